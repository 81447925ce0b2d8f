/** A piece of code: as it was written at once, and in colours as soon as these are there, which moves nothing. */
import { ActionIcon, Code } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { HighlightedTree } from './highlighter.ts';

/** Beyond it code stays as it is: colouring it would take longer than a frame. */
const COLOURED_LENGTH_MAX = 20_000;

export interface CodeBlockProps {
  readonly text: string;
  /** As the fence names it. */
  readonly language: string | undefined;
}

export function CodeBlock({ text, language }: CodeBlockProps) {
  const { t } = useTranslation();
  const tree = useColours(text, language);
  const clipboard = useClipboard();
  return (
    <div className="parley-code">
      <Code block tabIndex={0}>
        {tree === undefined ? text : drawn(tree.children)}
      </Code>
      {'clipboard' in navigator && (
        <ActionIcon
          className="parley-code-copy"
          variant="default"
          size="sm"
          aria-label={t(clipboard.copied ? 'app.copied' : 'code.copy')}
          title={t('code.copy')}
          onClick={() => clipboard.copy(text)}
        >
          {clipboard.copied ? <Check size={14} /> : <Copy size={14} />}
        </ActionIcon>
      )}
    </div>
  );
}

function useColours(text: string, language: string | undefined): HighlightedTree | undefined {
  const [coloured, setColoured] = useState<{ text: string; tree: HighlightedTree | undefined }>();
  useEffect(() => {
    if (language === undefined || text.length > COLOURED_LENGTH_MAX) return undefined;
    let isOver = false;
    import('./highlighter.ts').then(
      ({ highlight }) => {
        if (!isOver) setColoured({ text, tree: highlight(text, language) });
      },
      // Without colours it is code all the same.
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, [text, language]);
  return coloured?.text === text ? coloured.tree : undefined;
}

type Nodes = HighlightedTree['children'];

/** Element by element: what code looks like is text. */
function drawn(nodes: Nodes): ReactNode[] {
  return nodes.map((node, index) => {
    if (node.type === 'text') return node.value;
    if (node.type !== 'element') return null;
    const { className } = node.properties;
    return (
      <span key={index} className={Array.isArray(className) ? className.join(' ') : undefined}>
        {drawn(node.children)}
      </span>
    );
  });
}
