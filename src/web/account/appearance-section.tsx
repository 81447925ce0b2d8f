/** How the app looks here: colours, contrast, density, the size of its text, and its language. */
import {
  Group,
  NativeSelect,
  SegmentedControl,
  Stack,
  Text,
  useMantineColorScheme,
  type MantineColorScheme,
} from '@mantine/core';
import { useId, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { appearance, APPEARANCES, type Appearance } from '../kit/appearance.ts';
import { useObserved } from '../kit/observable.ts';
import { LanguageChoice } from './language-choice.tsx';

export function AppearanceSection() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { text } = useObserved(appearance, () => appearance.now);
  const schemes = (['light', 'dark', 'auto'] as const).map((value) => ({ value, label: t(`appearance.${value}`) }));
  const sizes = APPEARANCES.text.toSorted((one, other) => Number(one) - Number(other));
  return (
    <Stack>
      <Named name={t('appearance.colours')}>
        {(id) => (
          <SegmentedControl<MantineColorScheme>
            aria-labelledby={id}
            data={schemes}
            value={colorScheme}
            onChange={setColorScheme}
          />
        )}
      </Named>
      <Choice name="contrast" />
      <Choice name="density" />
      <Named name={t('appearance.text')}>
        {(id) => (
          <NativeSelect
            aria-labelledby={id}
            data={sizes.map((value) => ({ value, label: t('appearance.percent', { value }) }))}
            value={text}
            onChange={(event) => appearance.choose({ text: event.currentTarget.value as Appearance['text'] })}
          />
        )}
      </Named>
      <Named name={t('settings.language')}>{() => <LanguageChoice />}</Named>
      <Text size="sm" c="dimmed">
        {t('appearance.here')}
      </Text>
    </Stack>
  );
}

function Choice({ name }: { readonly name: 'contrast' | 'density' }) {
  const { t } = useTranslation();
  const value = useObserved(appearance, () => appearance.now[name]);
  return (
    <Named name={t(`appearance.${name}`)}>
      {(id) => (
        <SegmentedControl
          aria-labelledby={id}
          data={APPEARANCES[name].map((one) => ({ value: one, label: t(`appearance.${one}`) }))}
          value={value}
          onChange={(chosen) => appearance.choose({ [name]: chosen })}
        />
      )}
    </Named>
  );
}

interface NamedProps {
  readonly name: string;
  /** Draws what is named by the element of this id. */
  readonly children: (id: string) => ReactNode;
}

function Named({ name, children }: NamedProps) {
  const id = useId();
  return (
    <Group justify="space-between" gap="xs">
      <Text id={id}>{name}</Text>
      {children(id)}
    </Group>
  );
}
