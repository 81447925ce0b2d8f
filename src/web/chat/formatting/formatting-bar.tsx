/** Over the field: what can be done with the selected text. The arrows go from one button to the next. */
import { ActionIcon, Group } from '@mantine/core';
import { Bold, Code, CodeXml, Italic, Link, List, ListOrdered, Strikethrough, TextQuote } from 'lucide-react';
import type { KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { FORMATS, type Format } from './formats.ts';

const SIGNS = {
  bold: Bold,
  italic: Italic,
  strike: Strikethrough,
  code: Code,
  block: CodeXml,
  quote: TextQuote,
  bullets: List,
  numbers: ListOrdered,
  link: Link,
} as const;

export function FormattingBar({ onFormat }: { readonly onFormat: (format: Format) => void }) {
  const { t } = useTranslation();
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons.at((at + step) % buttons.length)?.focus();
  };
  return (
    <Group
      gap={2}
      wrap="nowrap"
      role="toolbar"
      aria-label={t('format.title')}
      className="parley-format"
      onKeyDown={press}
    >
      {FORMATS.map((format, index) => {
        const Sign = SIGNS[format];
        return (
          <ActionIcon
            key={format}
            variant="subtle"
            color="gray"
            tabIndex={index === 0 ? 0 : -1}
            aria-label={t(`format.${format}`)}
            title={t(`format.${format}`)}
            // The field keeps the focus, and with it what is selected.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onFormat(format)}
          >
            <Sign size={16} />
          </ActionIcon>
        );
      })}
    </Group>
  );
}
