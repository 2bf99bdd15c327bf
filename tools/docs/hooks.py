"""Adds what lies outside of docs/ to the site: README.md, which is the front page, and CONTRIBUTING.md."""
import json
import os
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTSIDE = ('README.md', 'CONTRIBUTING.md')


def on_files(files, config):
    for name in OUTSIDE:
        files.append(File(name, ROOT, config['site_dir'], config['use_directory_urls']))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links between docs/ and what lies outside of it are those of files; in the site all are one folder."""
    if page.file.src_uri in OUTSIDE:
        return re.sub(r'\]\(docs/', '](', markdown)
    up = '../' * page.file.src_uri.count('/')
    return re.sub(r'\]\(' + re.escape(up) + r'\.\./(' + '|'.join(map(re.escape, OUTSIDE)) + ')', '](' + up + r'\1', markdown)


def on_post_build(config):
    """Writes the index as a script, which pages opened from a disk can load, too."""
    folder = os.path.join(config['site_dir'], 'search')
    with open(os.path.join(folder, 'search_index.json'), encoding='utf-8') as index:
        text = json.dumps(json.load(index), ensure_ascii=False)
    with open(os.path.join(folder, 'index.js'), 'w', encoding='utf-8') as script:
        script.write('var __search = {index: Promise.resolve(' + text + ')};\n')
