/**
 * Tokens that begin with a literal of their own, by the documentation of who issues them. Upper lengths are open:
 * issuers lengthen tokens, and a tail left is a leak. What is shorter than any token of its kind stays.
 */
import type { Row, ShapeRow, TokenRow } from '../rows.ts';
import type { SecretClass } from '../../spans.ts';

/** Characters that the examples are made of: capitals, small letters and digits in turn. */
const MIXED =
  'Qm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2EuQm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2EuQm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2Eu';
const HEX = '4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e';
const CAPITALS = 'ZQK2M4N6P3R5T2V7X8Y4W6S3U5Q2A7B4C6D3';
const SMALL = 'k3v9q7r4saprf22ewfw8cx37qqn7hx4j1z';

/** Rows of literals that go on alike; `sample` is what an example has behind the literal. */
function tokens(secretClass: SecretClass, literals: string, pattern: string, sample: string): TokenRow[] {
  return literals.split(' ').map((literal) => ({
    kind: 'token',
    literal,
    pattern,
    class: secretClass,
    go: [`got «${literal}${sample}» now`, `{"v":"«${literal}${sample}»"}`],
    // A long literal is a token by itself.
    ...(literal.length < 14 ? { stay: [`got ${literal}x now`] } : {}),
  }));
}

/** A token without a literal at its beginning; the first word of it has so many characters. */
function shape(secretClass: SecretClass, width: readonly [number, number], pattern: string, sample: string): ShapeRow {
  return { kind: 'shape', class: secretClass, width, pattern, go: [`got «${sample}» now`, `{"v":"«${sample}»"}`] };
}

const WIDE = String.raw`[\w-]`;

export const TOKENS: readonly Row[] = [
  ...tokens('platform-token', 'svc_', `${WIDE}{8,}`, `vst_${MIXED.slice(0, 30)}`),
  ...tokens(
    'platform-token',
    'bot_',
    String.raw`(?=[A-Za-z_-]{0,60}[0-9])[\w-]{16,}`,
    `${MIXED.slice(2, 5)}heronsandgullssea`,
  ),
  ...tokens(
    'platform-token',
    'bot_',
    String.raw`(?=[a-z_-]{0,60}[A-Z])(?=[A-Z_-]{0,60}[a-z])[\w-]{16,}`,
    'heronsAndGullsOverTheSea',
  ),
  ...tokens('platform-token', 'inv_', '[0-9a-z]{24,}', SMALL.slice(0, 32)),
  ...tokens('platform-token', 'adm_', `${WIDE}{40,}`, MIXED.slice(0, 43)),
  // The secret of a webhook stands in its URL, behind its id.
  ...tokens(
    'platform-token',
    'join_n_ node_n_ hook_',
    `[0-9a-z]{22}_${WIDE}{16,}`,
    `${SMALL.slice(0, 22)}_${MIXED.slice(0, 22)}`,
  ),
  ...tokens(
    'jwt',
    'eyJ eyAi ewog',
    String.raw`[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}`,
    'hbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczov.Qm4Zx7Tb2Wn8Lf5R',
  ),
  // Base64 of JSON: whatever it holds cannot be read by a person either.
  ...tokens('random', 'eyJ eyAi ewog', '[A-Za-z0-9+/_-]{24,}={0,2}', 'a'.repeat(28)),
  ...tokens('jwt', 'ZXlK', '[A-Za-z0-9+/_-]{20,}={0,2}', MIXED.slice(0, 40)),
  ...tokens('aws-key', 'AKIA ASIA ABIA ACCA A3T AGPA AIDA AROA AIPA ANPA ANVA', '[A-Z0-9]{16,}', CAPITALS.slice(0, 17)),
  ...tokens('aws-key', 'ABSK', '[A-Za-z0-9+/]{60,}={0,2}', MIXED.slice(0, 64)),
  ...tokens('aws-key', 'bedrock-api-key-', '[A-Za-z0-9+/=_-]{20,}', MIXED.slice(0, 40)),
  ...tokens('aws-key', 'amzn.mws.', '[0-9a-f-]{20,}', '4f9a1c7e-2b8d-3f6a-0c5e-9b1d7f3a8c2e'),
  ...tokens(
    'api-key',
    'ghp_ gho_ ghu_ ghr_ github_pat_ npm_ hf_ dop_v1_ doo_v1_ dor_v1_ ntn_ lin_api_ shpat_ shpca_ shppa_ shpss_ sntryu_ glsa_ rubygems_ pscale_tkn_ pscale_oauth_ pscale_pw_ tfp_ sbp_ rnd_ dckr_pat_ dckr_oat_ figd_ fio-u- hvps_ nfp_ pnu_ secret_ sbs_ ak_live_ re_ tskey-auth- tskey-api- tskey-client- nvapi-',
    `${WIDE}{16,}`,
    MIXED.slice(0, 36),
  ),
  ...tokens('api-key', 'squ_ sqp_ sqa_ bkua_ bkpt_ bkaj_ bkct_', '[0-9a-f]{32,}', HEX.slice(0, 40)),
  ...tokens('api-key', 'NRAK- NRRA- NRII- NRIQ- NRJS-', '[A-Za-z0-9_-]{16,}', CAPITALS.slice(0, 27)),
  ...tokens('api-key', 'NRAL- NRAA-', '[A-Za-z0-9_-]{20,}', CAPITALS.slice(0, 27)),
  ...tokens('api-key', 'pat', String.raw`[A-Za-z0-9]{14}\.[0-9a-f]{32,}`, `${MIXED.slice(0, 14)}.${HEX}`),
  ...tokens(
    'api-key',
    'sdk- mob- api-',
    '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    '4f9a1c7e-2b8d-4f6a-8c5e-9b1d7f3a8c2e',
  ),
  ...tokens('api-key', 'ghs_', String.raw`[\w.-]{30,}`, MIXED.slice(0, 36)),
  ...tokens(
    'api-key',
    'glpat- gldt- glft- glsoat- glrt- glcbt- glffct- glimt- glptt- glagent- gloas-',
    String.raw`[\w.-]{16,}`,
    MIXED.slice(0, 20),
  ),
  ...tokens('api-key', 'GR1348941', `${WIDE}{16,}`, MIXED.slice(0, 20)),
  ...tokens(
    'api-key',
    'xoxb- xoxp- xoxa- xoxr- xoxo- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-',
    String.raw`[\w.%-]{10,}`,
    `123456789012-${MIXED.slice(0, 24)}`,
  ),
  ...tokens(
    'api-key',
    'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ whsec_',
    '[A-Za-z0-9+/=_-]{10,}',
    MIXED.slice(0, 24),
  ),
  ...tokens('api-key', 'sk-', String.raw`(?=[A-Za-z_-]{0,60}[0-9])[\w-]{20,}`, MIXED.slice(0, 48)),
  ...tokens('api-key', 'sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-', `${WIDE}{16,}`, 'heronsandgullsoverthesea'),
  ...tokens('api-key', 'SK AC', '[0-9a-fA-F]{32,}', HEX.slice(0, 32)),
  ...tokens('api-key', 'SG.', String.raw`[\w-]{16,}\.[\w-]{16,}`, `${MIXED.slice(0, 22)}.${MIXED.slice(0, 43)}`),
  ...tokens('api-key', 'AIza', `${WIDE}{30,}`, MIXED.slice(0, 35)),
  ...tokens('api-key', 'ya29.', String.raw`[\w.-]{16,}`, MIXED.slice(0, 60)),
  ...tokens('api-key', 'GOCSPX-', `${WIDE}{16,}`, MIXED.slice(0, 28)),
  ...tokens('api-key', 'pypi-', `${WIDE}{30,}`, MIXED.slice(0, 60)),
  ...tokens('api-key', 'AQVN', `${WIDE}{30,}`, MIXED.slice(0, 35)),
  ...tokens('api-key', 'AAAA', String.raw`[\w-]{7}:[\w-]{100,}`, `Qm4Zx7T:${MIXED.slice(0, 100)}Qm`),
  ...tokens('api-key', 'YC', String.raw`(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{38,}`, MIXED.slice(0, 38)),
  ...tokens(
    'api-key',
    't1.',
    String.raw`[A-Z0-9a-z_-]{1,200}={0,2}\.[\w-]{40,}={0,2}`,
    `9${MIXED.slice(0, 30)}.${MIXED.slice(0, 80)}`,
  ),
  ...tokens('api-key', 'hvs. hvb. hvr.', `${WIDE}{20,}`, MIXED.slice(0, 90)),
  ...tokens(
    'api-key',
    's.',
    String.raw`(?=[A-Za-z]{0,24}[0-9])(?=[a-z0-9]{0,24}[A-Z])[A-Za-z0-9]{24,}(?![\w-])`,
    MIXED.slice(0, 24),
  ),
  ...tokens(
    'api-key',
    'dt0c01. dt0s01.',
    String.raw`[A-Z0-9]{20,}\.[A-Z0-9]{40,}`,
    `${CAPITALS.slice(0, 24)}.${CAPITALS}${CAPITALS.slice(0, 28)}`,
  ),
  ...tokens('api-key', 'AGE-SECRET-KEY-1', '[A-Za-z0-9]{20,}', CAPITALS.slice(0, 30)),
  ...tokens('api-key', 'dapi', '[0-9a-f]{32,}(?:-[0-9]+)?', HEX.slice(0, 32)),
  ...tokens('api-key', 'PMAK-', '[0-9a-fA-F-]{30,}', `${HEX.slice(0, 24)}-${HEX.slice(0, 34)}`),
  ...tokens('api-key', 'EAAA sq0atp- sq0csp-', `${WIDE}{20,}`, MIXED.slice(0, 43)),
  ...tokens('api-key', 'sntrys_', '[A-Za-z0-9+/=_-]{30,}', MIXED.slice(0, 60)),
  ...tokens('api-key', 'glc_ eyJrIjoi ops_eyJ', '[A-Za-z0-9+/=_-]{20,}', MIXED.slice(0, 60)),
  ...tokens('api-key', 'dp.pt. dp.st. dp.ct. dp.sa.', String.raw`[\w.-]{20,}`, MIXED.slice(0, 43)),
  ...tokens('api-key', 'pul-', '[0-9a-f]{40,}', HEX.slice(0, 40)),
  ...tokens('api-key', 'A3-', '[A-Z0-9-]{20,}', CAPITALS.slice(0, 30)),
  ...tokens('api-key', 'fo1_ fm1_ fm2_ fm1r_ fm1a_', '[A-Za-z0-9+/=_-]{20,}', MIXED.slice(0, 43)),
  ...tokens('api-key', 'key-', '[0-9a-f]{32,}', HEX.slice(0, 32)),
  ...tokens('api-key', 'xkeysib-', '[0-9a-f]{40,}-[A-Za-z0-9]{10,}', `${HEX}-${MIXED.slice(0, 16)}`),
  ...tokens('private-key', 'LS0tLS1CRUdJTi b3BlbnNzaC1rZXktdjE', '[A-Za-z0-9+/_-]{16,}={0,2}', MIXED.slice(0, 60)),
  ...tokens(
    'secret',
    'pbkdf2_sha256$ pbkdf2_sha1$ scram-sha-256$ SCRAM-SHA-256$ SCRAM-SHA-1$',
    String.raw`[\w+/=.:$-]{20,}`,
    `4096:${MIXED.slice(0, 22)}==$${MIXED.slice(0, 43)}=`,
  ),
  shape(
    'api-key',
    [23, 28],
    String.raw`[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}`,
    `M${MIXED.slice(0, 23)}.${MIXED.slice(4, 10)}.${MIXED.slice(0, 27)}`,
  ),
  shape(
    'api-key',
    [14, 14],
    String.raw`[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}`,
    `${MIXED.slice(0, 14)}.atlasv1.${MIXED.slice(0, 60)}`,
  ),
  shape(
    'api-key',
    [50, 50],
    '[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\\w-])',
    `${HEX.slice(0, 32)}-${HEX.slice(0, 8)}-${HEX.slice(8, 16)}`,
  ),
  shape('api-key', [36, 38], '[0-9a-f]{32}-us\\d{1,3}(?![\\w-])', `${HEX.slice(0, 32)}-us12`),
];
