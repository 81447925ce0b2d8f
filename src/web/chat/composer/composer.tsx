/** The field under the messages: text with mentions, what it answers or changes, files, and the way out by Enter. */
import { ActionIcon, CloseButton, FileButton, Group, Text, Textarea } from '@mantine/core';
import { CaseSensitive, Paperclip, SendHorizontal, Smile } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useName } from '../state/people.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import { breakpoint } from '../../kit/breakpoint.ts';
import { useLine } from '../conversation-words.ts';
import { useChat } from '../chat-context.ts';
import { useMay, useOpenConversation, type Aim } from '../conversation/open-conversation.ts';
import { EmojiButton } from '../emoji/emoji-button.tsx';
import { formatField } from '../formatting/format-field.ts';
import { FormattingBar } from '../formatting/formatting-bar.tsx';
import { MentionList } from './mention-list.tsx';
import { useComposing } from './composing.ts';

const HAS_FORMATTING = 'parley.formatting';

/** Browsers size a field by what is in it; where one does not, it is measured with each change, which lays the whole page out. */
const SIZING = CSS.supports('field-sizing', 'content') ? { rows: 1 } : { autosize: true, minRows: 1, maxRows: 10 };

/** Whether the buttons are shown: as the person left it in this browser. */
function useFormattingShown(): [isShown: boolean, toggle: () => void] {
  const [isShown, setShown] = useState(() => {
    const kept = readKept(HAS_FORMATTING);
    return typeof kept === 'boolean' ? kept : breakpoint.now !== 'narrow';
  });
  const toggle = () => {
    keep(HAS_FORMATTING, !isShown);
    setShown(!isShown);
  };
  return [isShown, toggle];
}

export interface ComposerProps {
  readonly title: string;
  readonly aim: Aim | undefined;
  /** In a thread: the message that it began with, which everything here answers. */
  readonly root?: number;
  readonly onSent: () => void;
}

export function Composer({ title, aim, root, onSent }: ComposerProps) {
  const { t } = useTranslation();
  const { aimAt, conversation } = useOpenConversation();
  const may = useMay();
  const composing = useComposing({ aim, root, onSent });
  const { field, mentions, text } = composing;
  const [hasFormatting, toggleFormatting] = useFormattingShown();
  if (!may('message.post')) {
    return (
      <Text c="dimmed" p="md" ta="center">
        {t(conversation.archivedAt === undefined ? 'composer.forbidden' : 'composer.archived')}
      </Text>
    );
  }
  return (
    <div className="parley-composer">
      {aim !== undefined && <AimLine aim={aim} onClose={() => aimAt(undefined)} />}
      <MentionList mentions={mentions} onPick={composing.complete} />
      <div className="parley-composer-field">
        {hasFormatting && (
          <FormattingBar onFormat={(format) => field.current !== null && formatField(field.current, format)} />
        )}
        <Group gap={4} align="flex-end" wrap="nowrap">
          {root === undefined && <AttachButton />}
          <Textarea
            ref={field}
            className="parley-composer-text"
            variant="unstyled"
            {...SIZING}
            dir="auto"
            value={text}
            onChange={(event) => composing.type(event.currentTarget.value)}
            onKeyDown={composing.press}
            onSelect={composing.look}
            onPaste={composing.paste}
            placeholder={t('composer.placeholder', { title })}
            aria-label={t('composer.placeholder', { title })}
            aria-controls={mentions.active === undefined ? undefined : mentions.id}
            aria-activedescendant={mentions.active}
          />
          <FormattingToggle isShown={hasFormatting} onToggle={toggleFormatting} />
          <EmojiButton label={t('emoji.title')} onPick={composing.insert} size="lg" hasCustom>
            <Smile size={18} />
          </EmojiButton>
          <ActionIcon size="lg" aria-label={t('composer.send')} disabled={text.trim() === ''} onClick={composing.send}>
            <SendHorizontal size={18} />
          </ActionIcon>
        </Group>
      </div>
    </div>
  );
}

function AttachButton() {
  const { t } = useTranslation();
  const { uploads } = useChat();
  const { conv } = useOpenConversation();
  return (
    <FileButton multiple onChange={(files) => uploads.add(conv, files)}>
      {(props) => (
        <ActionIcon
          {...props}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('composer.attach')}
          title={t('composer.attach')}
        >
          <Paperclip size={18} />
        </ActionIcon>
      )}
    </FileButton>
  );
}

function FormattingToggle({ isShown, onToggle }: { readonly isShown: boolean; readonly onToggle: () => void }) {
  const { t } = useTranslation();
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={t('format.title')}
      title={t('format.title')}
      className="parley-format-toggle"
      aria-pressed={isShown}
      onClick={onToggle}
    >
      <CaseSensitive size={20} />
    </ActionIcon>
  );
}

function AimLine({ aim, onClose }: { readonly aim: Aim; readonly onClose: () => void }) {
  const { t } = useTranslation();
  const { people } = useChat();
  const name = useName(people, aim.message.sender);
  const line = useLine(aim.message, t);
  return (
    <Group gap="xs" wrap="nowrap" className="parley-aim">
      <Text size="sm" truncate flex={1}>
        {aim.kind === 'edit' ? t('composer.editing', { line }) : t('composer.replying', { name, line })}
      </Text>
      <CloseButton size="sm" aria-label={t('app.cancel')} onClick={onClose} />
    </Group>
  );
}
