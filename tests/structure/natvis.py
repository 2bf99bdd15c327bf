"""natvis.py ROOT: fails if tools/debugger/lazy.natvis is no well-formed XML, or names a type, field or enumerator that
the headers don't have."""
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv[1])
SPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
# Of C++, of natvis, and of libstdc++'s std::atomic.
KNOWN = set("char double float int long unsigned lazy jit i _M_i".split())

headers = "\n".join(p.read_text() for folder in ("lazy", "jit", "support") for p in sorted((ROOT / folder).rglob("*.hpp")))
headers = re.sub(r"//.*", "", headers)
root = xml.etree.ElementTree.parse(ROOT / "tools/debugger/lazy.natvis").getroot()
types = root.findall(SPACE + "Type")
missing = set()
for t in types:
    name = t.get("Name").split("::")[-1]
    if not re.search(r"^(class|struct) %s\b[^;]*\{" % name, headers, re.M):
        missing.add(t.get("Name"))
    for e in t.iter():
        said = [e.get("Condition") or ""]
        if e.tag == SPACE + "DisplayString":
            said += re.findall(r"\{(.*?)\}", e.text)
        elif e.text:
            said.append(e.text)
        for word in re.findall(r"[A-Za-z_]\w*", " ".join(said)):
            if word not in KNOWN and not re.search(r"\b%s\b\s*(?:[;={,(:\[]|\}|$)" % word, headers, re.M):
                missing.add(word)
if not types or missing:
    sys.exit("lazy.natvis names what is not in the headers: %s" % (", ".join(sorted(missing)) or "no types"))
