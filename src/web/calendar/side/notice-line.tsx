/** What was just done, or refused, over the lower edge of the calendar. */
import { Button, CloseButton, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';

export function NoticeLine() {
  const { t } = useTranslation('calendar');
  const { notices } = useCalendar();
  const notice = useObserved(notices, () => notices.notice);
  const undo = notice?.undo;
  return (
    <div className="parley-notice-place" role={notice?.isTrouble === true ? 'alert' : 'status'}>
      {notice !== undefined && (
        <Group className="parley-notice" data-trouble={notice.isTrouble || undefined} gap="sm" wrap="nowrap">
          <Text size="sm">{notice.text}</Text>
          {undo !== undefined && (
            <Button
              size="compact-sm"
              variant="white"
              onClick={() => {
                notices.clear();
                undo();
              }}
            >
              {t('undo')}
            </Button>
          )}
          <CloseButton
            size="sm"
            variant="transparent"
            c="inherit"
            aria-label={t('close')}
            onClick={() => notices.clear()}
          />
        </Group>
      )}
    </div>
  );
}
