// Holds the data, and functions that all parts of the page share.
const data = JSON.parse(document.getElementById("data").textContent);
const strings = data.strings;
const byId = (id) => document.getElementById(id);
const text = (i) => (i >= 0 ? strings[i] : "");
const count = (columns) => Object.values(columns)[0].length;

function element(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(properties || {})) k === "class" ? (e.className = v) : (e[k] = v);
  e.append(...children);
  return e;
}
function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Writes three significant digits.
function digits(v) {
  const a = Math.abs(v);
  return a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(1) : v.toFixed(2);
}
function duration(us) {
  const a = Math.abs(us);
  if (a >= 1e6) return digits(us / 1e6) + " s";
  if (a >= 1e3) return digits(us / 1e3) + " ms";
  return a >= 1 || a === 0 ? digits(us) + " µs" : (us * 1e3).toFixed(0) + " ns";
}
function scaled(v, step, units) {
  let i = 0;
  while (Math.abs(v) >= step && i + 1 < units.length) (v /= step), ++i;
  return (i === 0 && Number.isInteger(v) ? String(v) : digits(v)) + units[i];
}
const bytes = (v) => scaled(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const plain = (v) => v.toLocaleString("en-US");
const sum = (a) => a.reduce((x, y) => x + y, 0);

// Passes events between the parts of the page: "flush" (a flush was picked), "program" (a program was).
const listeners = {};
const on = (what, f) => (listeners[what] ||= []).push(f);
const say = (what, ...args) => (listeners[what] || []).forEach((f) => f(...args));

// Shows a table: only the rows in view are in the document, so that 100,000 rows cost no more than 20.
// columns: {title, width (of the grid), value (sorts), show (text or node), right}. children: the rows that an open row has
// below it.
class Table {
  constructor(box, columns, rows, pick, children = () => []) {
    Object.assign(this, { columns, rows, all: rows, pick, children, sorted: -1, down: true, height: 30 });
    this.grid = columns.map((c) => c.width).join(" ");
    const header = element("div", { class: "row header" });
    header.style.gridTemplateColumns = this.grid;
    columns.forEach((c, i) => header.append(element("span", { class: c.right ? "r" : "", textContent: c.title, title: c.title, onclick: () => this.sort(i) })));
    this.body = element("div", { class: "body" });
    this.filler = element("div");
    this.body.append(this.filler);
    this.header = header;
    box.append(header, this.body);
    this.body.addEventListener("scroll", () => this.draw());
    this.set(rows);
  }
  set(rows) {
    this.top = rows;
    this.order();
    this.filler.style.height = this.rows.length * this.height + "px";
    this.body.style.height = Math.min(380, Math.max(1, this.rows.length) * this.height) + "px";
    this.draw();
  }
  sort(i) {
    this.down = this.sorted === i ? !this.down : true;
    this.sorted = i;
    this.order();
    this.draw();
  }
  order() {
    const sign = this.down ? -1 : 1, value = this.sorted >= 0 ? this.columns[this.sorted].value : () => 0;
    const sorted = (rows) => (this.sorted < 0 ? rows.slice() : rows.slice().sort((a, b) => (value(a) < value(b) ? -sign : value(a) > value(b) ? sign : a - b)));
    this.rows = sorted(this.top).flatMap((r) => [r, ...sorted(this.children(r))]);
    if (this.sorted >= 0) [...this.header.children].forEach((e, i) => (e.textContent = this.columns[i].title + (i === this.sorted ? (this.down ? " ↓" : " ↑") : "")));
  }
  draw() {
    const first = Math.max(0, Math.floor(this.body.scrollTop / this.height) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil(400 / this.height) + 10);
    const shown = [this.filler];
    for (let i = first; i < last; ++i) {
      const r = this.rows[i];
      const row = element("div", { class: "row" + (r === this.chosen ? " chosen" : ""), onclick: () => this.choose(r) });
      row.style.gridTemplateColumns = this.grid;
      row.style.top = i * this.height + "px";
      for (const c of this.columns) {
        const cell = element("span", { class: c.right ? "r" : "" }, c.show(r));
        if (typeof c.show(r) === "string") cell.title = c.show(r);
        row.append(cell);
      }
      shown.push(row);
    }
    this.body.replaceChildren(...shown);
  }
  choose(r, quiet) {
    this.chosen = r;
    if (quiet) {
      const at = this.rows.indexOf(r);
      if (at >= 0) this.body.scrollTop = at * this.height - 150;
    }
    this.draw();
    if (!quiet) this.pick(r);
  }
}
