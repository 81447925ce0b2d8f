/**
 * Code in colours: highlight.js by lowlight, which answers a tree instead of markup. This file comes with the first piece of
 * code that names its language, and knows those that people paste into conversations.
 */
import { createLowlight } from 'lowlight';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json },
  ...{ kotlin, php, python, ruby, rust, sql, swift, typescript, xml, yaml },
});

export type HighlightedTree = ReturnType<typeof lowlight.highlight>;

/** The tree of a piece of code; undefined where the language is not known here, as `js` or `python` are. */
export function highlight(code: string, language: string): HighlightedTree | undefined {
  return lowlight.registered(language) ? lowlight.highlight(language, code) : undefined;
}
