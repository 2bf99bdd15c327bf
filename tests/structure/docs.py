#!/usr/bin/env python3
"""Checks the pages of docs/: `docs.py links ROOT` finds dead links and pages that the site's navigation leaves out,
`docs.py site ROOT FOLDER` builds the site into an empty folder, where MkDocs is installed (exit status 77 where it is not)."""
import os
import re
import shutil
import subprocess
import sys

OUTSIDE = ('README.md', 'CONTRIBUTING.md')  # pages of the site that are not in docs/


def without_code(text):
    """Returns a page without its blocks of code and the code in its lines."""
    text = re.sub(r'^(```+)[^\n]*\n.*?^\1 *$', '', text, flags=re.M | re.S)
    return re.sub(r'(`+)[^`].*?\1', 'code', text)


def slugs(heading):
    """Returns a heading's anchors: GitHub's and the site's."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).replace('`', '').strip().lower()
    words = re.sub(r'[^\w\s-]', '', text)
    return re.sub(r'\s', '-', words), re.sub(r'[-\s]+', '-', words)


def anchors(text):
    """Returns the anchors of a page, those that both readers have."""
    text = re.sub(r'^(```+)[^\n]*\n.*?^\1 *$', '', text, flags=re.M | re.S)
    by_reader = [slugs(h) for h in re.findall(r'^#+ +(.*)$', text, flags=re.M)]
    return {a for a, b in by_reader} & {b for a, b in by_reader}


def links(root):
    docs = os.path.join(root, 'docs')
    pages = {os.path.relpath(os.path.join(folder, f), root)
             for folder, _, files in os.walk(docs) for f in files if f.endswith('.md')} | set(OUTSIDE)
    texts = {p: open(os.path.join(root, p), encoding='utf-8').read() for p in pages}
    faults = []
    for page, text in sorted(texts.items()):
        for target in re.findall(r'\]\(([^)\s]+)\)', without_code(text)):
            if re.match(r'[a-z]+:', target):
                continue
            path, _, anchor = target.partition('#')
            there = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(root, there)):
                faults.append(f'{page}: {target}: no such file')
            elif anchor and there in texts and anchor not in anchors(texts[there]):
                faults.append(f'{page}: {target}: {there} has no heading of that anchor')
    with open(os.path.join(root, 'tools/docs/mkdocs.yml'), encoding='utf-8') as config:
        listed = re.findall(r'^ *- (?:[^:#]+: )?([\w./-]+\.md)$', config.read(), flags=re.M)
    listed = [p if p in OUTSIDE else os.path.join('docs', p) for p in listed]
    faults += [f'tools/docs/mkdocs.yml: leaves out {p}' for p in sorted(pages - set(listed))]
    faults += [f'tools/docs/mkdocs.yml: names {p}, which is not there' for p in sorted(set(listed) - pages)]
    faults += [f'tools/docs/mkdocs.yml: names {p} twice' for p in sorted(set(listed)) if listed.count(p) > 1]
    print('\n'.join(faults) or f'{len(pages)} pages')
    return 1 if faults else 0


def site(root, folder):
    if not shutil.which('mkdocs'):
        print('left out: MkDocs is not installed (apt-get install mkdocs-material)')
        return 77
    built = subprocess.run(['mkdocs', 'build', '--strict', '--clean', '--config-file',
                            os.path.join(root, 'tools/docs/mkdocs.yml'), '--site-dir', folder],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(built.stdout, end='')
    if 'Unrecognised theme' in built.stdout:
        print('left out: its theme Material is not installed (apt-get install mkdocs-material)')
        return 77
    if built.returncode:
        return built.returncode
    faults = []
    for there, _, files in os.walk(folder):
        for f in files:
            if f.endswith('.html'):
                text = open(os.path.join(there, f), encoding='utf-8').read()
                loaded = re.findall(r'<(?:script|img|iframe)[^>]*src="?(https?:[^" >]*)|<link[^>]*rel="?(?:stylesheet|preconnect)[^>]*href="?(https?:[^" >]*)', text)
                faults += [f'{f} loads {a or b} from the net' for a, b in loaded]
    if not os.path.getsize(os.path.join(folder, 'search/index.js')) > 100000:
        faults.append('the index of the search is missing')
    print('\n'.join(faults) or 'built')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit({'links': links, 'site': site}[sys.argv[1]](*sys.argv[2:]))
