/** The break-glass account: whether it is set, when it was used, and setting it anew (TFA-02). */
import { Button } from '@mantine/core';
import { Facts, Hint, LastUse, Part, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { TotpFigure, type TotpSetup } from '../../sign-in/second-factor-setup.tsx';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

export function BreakGlassScreen() {
  const context = useScreenContext();
  const state = useLoaded(async () => await context.call('get /break-glass', {}));
  return (
    <>
      <Hint>{t('break-glass.hint')}</Hint>
      <LoadedPlace of={state}>
        {({ is_set: isSet, last_used_address: address, last_used_at: usedAt, set_at: setAt, set_by: setBy }) => (
          <Facts
            of={{
              'column.state': (
                <StateBadge tone={isSet ? 'good' : 'warning'}>
                  {t(isSet ? 'break-glass.is-set' : 'break-glass.not-set')}
                </StateBadge>
              ),
              'break-glass.set-at': isSet && <When at={setAt} by={setBy} />,
              'vendor.used': <LastUse at={usedAt} address={address} />,
            }}
          />
        )}
      </LoadedPlace>
      <Part title="break-glass.set">
        <FieldsForm
          fields={{
            password: {
              label: 'sign-in.password',
              type: 'password',
              autoComplete: 'new-password',
              isRequired: true,
              minLength: 8,
              maxLength: 256,
            },
          }}
          submit="break-glass.set"
          isClearing
          send={async ({ password }) => {
            showFactor(context, await context.call('put /break-glass', { body: { password } }));
            await state.reload();
          }}
        />
      </Part>
    </>
  );
}

/** Its second factor, once: nothing but the reader's hand closes it. */
function showFactor(context: ScreenContext, setup: TotpSetup): void {
  void context.dialogs.show({
    title: 'break-glass.title',
    isHeld: true,
    content: (close) => (
      <>
        <p>{t('break-glass.once')}</p>
        <TotpFigure setup={setup} />
        <div className="actions">
          <Button onClick={close}>{t('action.kept')}</Button>
        </div>
      </>
    ),
  });
}
