"""Makes random strings for comparisons of tokenizers: words, accents, scripts, emoji, controls, whitespace."""
import random
import unicodedata

WORDS = """the of and to in is that for it as was with be by on not he this are or his from at which but have an had they
you were their one all we can her has there been if more when will would who so no said its up out into than them only
other new some could time these two may then do first any my now such like our over man me even most made after also did
many before must through back years where much your way well down should because each just those people how too little
state good very make world still own see men work long get here between both life being under never day same another know
while last might us great old year off come since against go came right used take three I'm you're we've they'll don't isn't
it's He'd CAN'T Hello World GPU tensor kernel graph fusion runtime compiler""".split()
ACCENTED = "café naïve résumé Zürich Ångström façade jalapeño Čeština żółć Ελλάδα Привет мир İstanbul ﬁance straße ǅ ſtill ΑΣ".split()
CJK = "你好世界日本語テスト漢字東京大学한국어안녕하세요ひらがなカタカナ中文𠀀𪜀﨑豈㐀"
SCRIPTS = "नमस्ते สวัสดี مرحبا שלום ሰላም ᠮᠣᠩᠭᠣᠯ தமிழ் ქართული հայերեն ਪੰਜਾਬੀ ខ្មែរ བོད་ཡིག ကမ္ဘာ".split()
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "☃", "🤷🏾‍♂️", "#️⃣"]
MARKS = "\u0301\u0300\u0308\u0323\u0345\u0327\u0338\u05b0\u064b\u093c\u0f71\u0f72\u302a\u3099\u20dd\u0488"
SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2009\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
CONTROLS = "\x00\x01\x07\x08\x1b\x7f\x80\x9f\xad\u0600\u070f\u200e\u202e\ufff9\ufffd\ufffe\U000e0001\U000f0000\ue000"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿«»–—‘’“”…、。「」・€£¥§¶°±²³½×÷‰※™ⅣⅷⒶ①㈱ﷺﾊﾞ𝒜𝟘"
NUMBERS = ["0", "1", "12", "345", "2024", "3.14", "1,000,000", "٣٤", "४५", "Ⅷ", "²³"]
JOINED = ["e\u0301", "a\u0323\u0307", "\u1100\u1161\u11a8", "ｱｲｳ", "ﬀ", "Å", "\u0958", "\u2126", "\u0344", "\u0f73", "\ufb2c", "q\u0307\u0323", "\u0130", "\u1e9e"]


def character(r, unassigned):
    while True:
        c = r.randrange(0x110000) if r.random() < 0.3 else r.randrange(0x3000)
        if 0xD800 <= c < 0xE000:
            continue
        if unassigned or unicodedata.category(chr(c)) != "Cn":
            return chr(c)


def part(r, special, unassigned):
    k = r.random()
    if k < 0.40:
        w = r.choice(WORDS)
        return w if r.random() < 0.8 else w.upper() if r.random() < 0.5 else w.capitalize()
    if k < 0.48: return r.choice(ACCENTED)
    if k < 0.54: return "".join(r.choice(CJK) for _ in range(r.randrange(1, 5)))
    if k < 0.58: return r.choice(SCRIPTS)
    if k < 0.62: return r.choice(EMOJI)
    if k < 0.66: return r.choice(WORDS)[:3] + "".join(r.choice(MARKS) for _ in range(r.randrange(1, 4)))
    if k < 0.71: return "".join(r.choice(SPACES) for _ in range(r.randrange(1, 4)))
    if k < 0.73: return r.choice(CONTROLS)
    if k < 0.81: return "".join(r.choice(PUNCTUATION) for _ in range(r.randrange(1, 4)))
    if k < 0.86: return r.choice(NUMBERS)
    if k < 0.89: return r.choice(JOINED)
    if k < 0.93 and special: return r.choice(special)
    if k < 0.95: return r.choice("abcxyz ") * r.randrange(1, 40)
    return character(r, unassigned)


def string(r, special, unassigned=True):
    out = []
    for _ in range(r.choice([0, 1, 1, 2, 3, 5, 8, 13, 21])):
        out.append(part(r, special, unassigned))
        if r.random() < 0.7:
            out.append(" ")
    return "".join(out)
