/** Keys of clouds and services, each known by its prefix: the shapes their makers document. */
import type { SeededRandom } from '#test/support/random.ts';
import {
  bytes,
  BASE32,
  BASE62,
  BASE64,
  BASE64URL,
  BECH32,
  DIGITS,
  draw,
  drawMixed,
  HEX,
  LOWER,
  UPPER,
  uuid,
} from './alphabets.ts';
import { hidden, mark, type Marked, type Shape, type SpanClass } from './labels.ts';

type Part = readonly [alphabet: string, length: number];

/** Fixed texts and runs of an alphabet, one after another: `['npm_', [BASE62, 36]]`. */
function joined(random: SeededRandom, parts: readonly (string | Part)[]): string {
  return parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : part[0].length > 32 && part[1] > 15
          ? drawMixed(random, part[0], part[1])
          : draw(random, part[0], part[1]),
    )
    .join('');
}

function prefixed(name: string, spanClass: SpanClass, ...parts: readonly (string | Part)[]): Shape {
  return { name, class: spanClass, known: 'bare', make: (random) => hidden(spanClass, joined(random, parts)) };
}

function api(name: string, ...parts: readonly (string | Part)[]): Shape {
  return prefixed(name, 'api-key', ...parts);
}

function keyed(
  name: string,
  spanClass: SpanClass,
  keys: readonly string[],
  make: (random: SeededRandom) => string,
): Shape {
  return { name, class: spanClass, known: 'keyed', keys, make: (random) => hidden(spanClass, make(random)) };
}

function line(name: string, spanClass: SpanClass, make: (random: SeededRandom) => Marked): Shape {
  return { name, class: spanClass, known: 'line', make };
}

const AWS_ID = `${UPPER}234567`;

const AWS: readonly Shape[] = [
  ...['AKIA', 'ASIA', 'ABIA', 'ACCA', 'A3TX'].map((lead) => prefixed(`aws ${lead}`, 'aws-key', lead, [AWS_ID, 16])),
  keyed(
    'aws secret access key',
    'aws-key',
    ['aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY', 'secretAccessKey'],
    (random) => drawMixed(random, BASE64, 40),
  ),
  keyed('aws session token', 'aws-key', ['aws_session_token', 'x-amz-security-token', 'AWS_SESSION_TOKEN'], (random) =>
    bytes(random, 192).toString('base64'),
  ),
  prefixed('aws bedrock', 'aws-key', 'ABSK', [BASE62, 128]),
  prefixed('aws bedrock short term', 'aws-key', 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t', [BASE62, 120]),
  {
    name: 'aws mws',
    class: 'aws-key',
    known: 'bare',
    make: (random) => mark`amzn.mws.${hidden('aws-key', uuid(random))}`,
  },
  line('aws presigned url', 'aws-key', (random) => {
    const credential = hidden('aws-key', `AKIA${draw(random, AWS_ID, 16)}`);
    const signature = hidden('aws-key', draw(random, HEX, 64));
    return mark`GET https://files.example.net/a.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${credential}%2F20261120%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Expires=300&X-Amz-Signature=${signature} 200`;
  }),
];

const FORGES: readonly Shape[] = [
  ...['ghp', 'gho', 'ghu', 'ghr'].map((lead) => api(`github ${lead}`, `${lead}_`, [BASE62, 36])),
  api('github ghs', 'ghs_', [BASE62, 36]),
  api('github ghr long', 'ghr_', [BASE62, 76]),
  api('github ghs signed', 'ghs_', [BASE62, 120], '.', [BASE64URL, 240], '.', [BASE62, 86]),
  api('github fine-grained', 'github_pat_', [BASE62, 22], '_', [BASE62, 59]),
  api('gitlab glpat', 'glpat-', [BASE62, 20]),
  api('gitlab glpat routable', 'glpat-', [BASE62, 44], '.01.', [`${LOWER}${DIGITS}`, 9]),
  ...['gldt-', 'glft-', 'glsoat-', 'glrt-', 'glcbt-', 'glffct-'].map((lead) =>
    api(`gitlab ${lead}`, lead, [BASE62, 20]),
  ),
  api('gitlab glimt-', 'glimt-', [BASE62, 25]),
  api('gitlab glptt-', 'glptt-', [HEX, 40]),
  api('gitlab glagent-', 'glagent-', [BASE62, 50]),
  api('gitlab gloas-', 'gloas-', [HEX, 64]),
  api('gitlab runner', 'GR1348941', [BASE62, 20]),
  api('npm', 'npm_', [BASE62, 36]),
  api('pypi', 'pypi-AgEIcHlwaS5vcmc', [BASE62, 150]),
  api('pypi test', 'pypi-AgENdGVzdC5weXBpLm9yZw', [BASE62, 120]),
  api('rubygems', 'rubygems_', [HEX, 48]),
];

const CHAT: readonly Shape[] = [
  ...['xoxb', 'xoxp', 'xoxa', 'xoxr', 'xoxs'].map((lead) =>
    api(`slack ${lead}`, `${lead}-`, [DIGITS, 12], '-', [DIGITS, 12], '-', [BASE62, 24]),
  ),
  api('slack xapp', 'xapp-1-A', [`${UPPER}${DIGITS}`, 10], '-', [DIGITS, 13], '-', [HEX, 64]),
  api('slack rotating', 'xoxe.xoxb-1-', [BASE62, 163]),
  {
    name: 'slack webhook',
    class: 'api-key',
    known: 'bare',
    make: (random) => {
      const path = `T${draw(random, UPPER, 10)}/B${draw(random, UPPER, 10)}/${drawMixed(random, BASE62, 24)}`;
      return mark`https://hooks.slack.com/services/${hidden('api-key', path)}`;
    },
  },
  {
    name: 'discord webhook',
    class: 'api-key',
    known: 'bare',
    make: (random) =>
      mark`https://discord.com/api/webhooks/${draw(random, DIGITS, 18)}/${hidden('api-key', drawMixed(random, BASE64URL, 68))}`,
  },
  {
    name: 'teams webhook',
    class: 'api-key',
    known: 'bare',
    make: (random) =>
      mark`https://acme.webhook.office.com/webhookb2/${uuid(random)}@${uuid(random)}/IncomingWebhook/${hidden('api-key', draw(random, HEX, 32))}/${uuid(random)}`,
  },
  api('discord bot', 'M', [BASE62, 23], '.', [BASE62, 6], '.', [BASE62, 27]),
  line('telegram bot in a path', 'api-key', (random) => {
    const token = hidden('api-key', `${draw(random, DIGITS, 10)}:AA${drawMixed(random, BASE64URL, 33)}`);
    return mark`POST https://api.telegram.org/bot${token}/sendMessage 200`;
  }),
  api('telegram bot', [DIGITS, 10], ':AA', [BASE62, 33]),
];

const MONEY_AND_MAIL: readonly Shape[] = [
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_prod_'].map((lead) => api(`stripe ${lead}`, lead, [BASE62, 32])),
  api('stripe webhook', 'whsec_', [BASE62, 32]),
  api('twilio key', 'SK', [HEX, 32]),
  api('twilio account', 'AC', [HEX, 32]),
  api('sendgrid', 'SG.', [BASE62, 22], '.', [BASE62, 43]),
  api('mailgun', 'key-', [HEX, 32]),
  api('mailchimp', [HEX, 32], '-us12'),
  api('brevo', 'xkeysib-', [HEX, 64], '-', [BASE62, 16]),
  ...['shpat_', 'shpca_', 'shppa_', 'shpss_'].map((lead) => api(`shopify ${lead}`, lead, [HEX, 32])),
  api('square access', 'EAAA', [BASE62, 60]),
  api('square oauth', 'sq0atp-', [BASE62, 22]),
];

const MODELS: readonly Shape[] = [
  api('openai', 'sk-', [BASE62, 20], 'T3BlbkFJ', [BASE62, 20]),
  ...['proj', 'svcacct', 'admin'].map((lead) =>
    api(`openai ${lead}`, `sk-${lead}-`, [BASE62, 58], 'T3BlbkFJ', [BASE62, 58]),
  ),
  api('anthropic api', 'sk-ant-api03-', [BASE62, 93], 'AA'),
  api('anthropic admin', 'sk-ant-admin01-', [BASE62, 93], 'AA'),
  api('hugging face', 'hf_', [BASE62, 34]),
];

const CLOUDS: readonly Shape[] = [
  api('google api', 'AIza', [BASE62, 35]),
  api('google oauth', 'ya29.', [BASE62, 120]),
  api('google client secret', 'GOCSPX-', [BASE62, 28]),
  api('fcm server', 'AAAA', [BASE62, 7], ':', [BASE62, 140]),
  api('fcm registration', [BASE62, 11], ':APA91b', [BASE62, 134]),
  api('azure ad client', [BASE62, 3], '8Q~', [BASE62, 34]),
  keyed('azure storage', 'api-key', ['AccountKey', 'SharedAccessKey'], (random) =>
    bytes(random, 64).toString('base64'),
  ),
  api('azure devops', [BASE62, 52], 'JQQJ99', [BASE62, 26]),
  line('azure sas', 'api-key', (random) => {
    const signature = hidden('api-key', percentBase64(random));
    return mark`GET https://acct.blob.core.windows.net/c/f?sv=2026-02-06&se=2026-12-01&sr=b&sp=r&sig=${signature} 206`;
  }),
  api('yandex iam', 'AQVN', [BASE62, 35]),
  api('yandex token', 't1.9', [BASE62, 40], '.', [BASE62, 86]),
  api('yandex static', 'YC', [BASE62, 38]),
  api('vault service', 'hvs.', [BASE62, 92]),
  api('vault batch', 'hvb.', [BASE62, 150]),
  keyed('vault legacy', 'api-key', ['X-Vault-Token', 'VAULT_TOKEN'], (random) => `s.${drawMixed(random, BASE62, 24)}`),
  api('terraform', [BASE62, 14], '.atlasv1.', [BASE62, 66]),
  api('age', 'AGE-SECRET-KEY-1', [BECH32.toUpperCase(), 58]),
  ...['dop_v1_', 'doo_v1_', 'dor_v1_'].map((lead) => api(`digitalocean ${lead}`, lead, [HEX, 64])),
  api('databricks', 'dapi', [HEX, 32]),
  api('notion', 'ntn_', [DIGITS, 11], [BASE62, 35]),
  api('linear', 'lin_api_', [BASE62, 40]),
  api('postman', 'PMAK-', [HEX, 24], '-', [HEX, 34]),
  api('sentry org', 'sntrys_', [BASE62, 96]),
  api('sentry user', 'sntryu_', [HEX, 64]),
  api('grafana service', 'glsa_', [BASE62, 32], '_', [HEX, 8]),
  api('grafana cloud', 'glc_', [BASE62, 60]),
  api('doppler', 'dp.pt.', [BASE62, 43]),
  api('pulumi', 'pul-', [HEX, 40]),
  api('1password service', 'ops_eyJ', [BASE62, 250]),
  ...['fo1_', 'fm2_'].map((lead) => api(`fly ${lead}`, lead, [BASE62, 80])),
  ...['tkn', 'oauth', 'pw'].map((kind) => api(`planetscale ${kind}`, `pscale_${kind}_`, [BASE62, 43])),
];

function percentBase64(random: SeededRandom): string {
  return encodeURIComponent(bytes(random, 32).toString('base64'));
}

/** Base32 in lower case, as older forge tokens are written. */
const LEGACY: readonly Shape[] = [
  {
    name: 'base32 of 52',
    class: 'random',
    known: 'bare',
    make: (random) => hidden('random', draw(random, BASE32, 52)),
  },
];

export const SERVICE_SHAPES: readonly Shape[] = [
  ...AWS,
  ...FORGES,
  ...CHAT,
  ...MONEY_AND_MAIL,
  ...MODELS,
  ...CLOUDS,
  ...LEGACY,
];
