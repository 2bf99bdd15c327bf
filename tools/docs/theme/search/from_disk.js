// Runs the search's worker in a hidden frame where the page is opened from a disk: browsers start no workers there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.scope = new Promise(resolve => {
        frame.onload = () => {
          frame.onload = null;
          const scope = frame.contentWindow;
          scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
          const script = scope.document.createElement("script");
          script.onload = () => resolve(scope);
          script.src = url;
          scope.document.head.append(script);
        };
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.scope.then(scope => scope.dispatchEvent(new scope.MessageEvent("message", {data})));
    }
  };
}
