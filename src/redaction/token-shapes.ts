/**
 * Tokens that begin with a literal of their own. The scanner finds the literal; the expression, anchored there and
 * sticky, says how far the token goes. Upper lengths are open: issuers lengthen tokens, and a tail left is a leak.
 * Every expression is checked for linear time by a test.
 */
import { packLead } from './character-classes.ts';
import type { SecretClass } from './spans.ts';

export interface TokenShape {
  readonly literal: string;
  readonly pattern: RegExp;
  readonly class: SecretClass;
}

const WIDE = '[A-Za-z0-9_-]';

function shapes(secretClass: SecretClass, literals: string, rest: string): TokenShape[] {
  return literals.split(' ').map((literal) => ({
    literal,
    pattern: new RegExp(`${literal.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}${rest}`, 'y'),
    class: secretClass,
  }));
}

export const TOKEN_SHAPES: readonly TokenShape[] = [
  ...shapes('platform-token', 'svc_vst_ svc_', `${WIDE}{8,}`),
  ...shapes('platform-token', 'bot_', String.raw`(?=[A-Za-z_-]{0,60}[0-9])[\w-]{16,}`),
  ...shapes('platform-token', 'bot_', String.raw`(?=[a-z_-]{0,60}[A-Z])(?=[A-Z_-]{0,60}[a-z])[\w-]{16,}`),
  ...shapes('platform-token', 'inv_', '[0-9a-z]{24,}'),
  ...shapes('platform-token', 'adm_', String.raw`[\w-]{40,}`),
  ...shapes('platform-token', 'join_n_ node_n_', String.raw`[0-9a-z]{22}_[\w-]{16,}`),
  // The secret of a webhook stands in its URL, behind its id.
  ...shapes('platform-token', 'hook_', String.raw`[0-9a-z]{22}_[\w-]{16,}`),
  ...shapes('jwt', 'eyJ eyAi ewog', String.raw`[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}`),
  // Base64 of JSON: whatever it holds cannot be read by a person either.
  ...shapes('random', 'eyJ eyAi ewog', '[A-Za-z0-9+/_-]{24,}={0,2}'),
  ...shapes('jwt', 'ZXlK', '[A-Za-z0-9+/_-]{20,}={0,2}'),
  ...shapes('aws-key', 'AKIA ASIA ABIA ACCA A3T AGPA AIDA AROA AIPA ANPA ANVA', '[A-Z0-9]{16,}'),
  ...shapes('aws-key', 'ABSK', '[A-Za-z0-9+/]{60,}={0,2}'),
  ...shapes('aws-key', 'bedrock-api-key-', '[A-Za-z0-9+/=_-]{20,}'),
  ...shapes('aws-key', 'amzn.mws.', '[0-9a-f-]{20,}'),
  ...shapes(
    'api-key',
    'ghp_ gho_ ghu_ ghr_ github_pat_ npm_ hf_ dop_v1_ doo_v1_ dor_v1_ ntn_ lin_api_ shpat_ shpca_ shppa_ shpss_ sntryu_ glsa_ rubygems_ pscale_tkn_ pscale_oauth_ pscale_pw_ tfp_ sbp_ rnd_',
    String.raw`[\w-]{16,}`,
  ),
  ...shapes('api-key', 'ghs_', String.raw`[\w.-]{30,}`),
  ...shapes(
    'api-key',
    'glpat- gldt- glft- glsoat- glrt- glcbt- glffct- glimt- glptt- glagent- gloas-',
    String.raw`[\w.-]{16,}`,
  ),
  ...shapes('api-key', 'GR1348941', String.raw`[\w-]{16,}`),
  ...shapes('api-key', 'xoxb- xoxp- xoxa- xoxr- xoxo- xoxs- xoxe- xoxe. xapp-', String.raw`[\w.-]{10,}`),
  ...shapes(
    'api-key',
    'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ whsec_',
    '[A-Za-z0-9+/=_-]{10,}',
  ),
  ...shapes('api-key', 'sk-', String.raw`(?=[A-Za-z_-]{0,60}[0-9])[\w-]{20,}`),
  ...shapes('api-key', 'sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-', String.raw`[\w-]{16,}`),
  ...shapes('api-key', 'SK AC', '[0-9a-fA-F]{32,}'),
  ...shapes('api-key', 'SG.', String.raw`[\w-]{16,}\.[\w-]{16,}`),
  ...shapes('api-key', 'AIza', String.raw`[\w-]{30,}`),
  ...shapes('api-key', 'ya29.', String.raw`[\w.-]{16,}`),
  ...shapes('api-key', 'GOCSPX-', String.raw`[\w-]{16,}`),
  ...shapes('api-key', 'pypi-', String.raw`[\w-]{30,}`),
  ...shapes('api-key', 'AQVN', String.raw`[\w-]{30,}`),
  ...shapes('api-key', 'AAAA', String.raw`[\w-]{7}:[\w-]{100,}`),
  ...shapes('api-key', 'YC', String.raw`(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{38,}`),
  ...shapes('api-key', 't1.', String.raw`[A-Z0-9a-z_-]{1,200}={0,2}\.[\w-]{40,}={0,2}`),
  ...shapes('api-key', 'hvs. hvb. hvr.', String.raw`[\w-]{20,}`),
  ...shapes('api-key', 's.', String.raw`(?=[A-Za-z]{0,24}[0-9])(?=[a-z0-9]{0,24}[A-Z])[A-Za-z0-9]{24,}(?![\w-])`),
  ...shapes('api-key', 'AGE-SECRET-KEY-1', '[A-Za-z0-9]{20,}'),
  ...shapes('api-key', 'dapi', '[0-9a-f]{32,}(?:-[0-9]+)?'),
  ...shapes('api-key', 'PMAK-', '[0-9a-fA-F-]{30,}'),
  ...shapes('api-key', 'EAAA sq0atp- sq0csp-', String.raw`[\w-]{20,}`),
  ...shapes('api-key', 'sntrys_', '[A-Za-z0-9+/=_-]{30,}'),
  ...shapes('api-key', 'glc_ eyJrIjoi ops_eyJ', '[A-Za-z0-9+/=_-]{20,}'),
  ...shapes('api-key', 'dp.pt. dp.st. dp.ct. dp.sa.', String.raw`[\w.-]{20,}`),
  ...shapes('api-key', 'pul-', '[0-9a-f]{40,}'),
  ...shapes('api-key', 'A3-', '[A-Z0-9-]{20,}'),
  ...shapes('api-key', 'fo1_ fm1_ fm2_ fm1r_ fm1a_', '[A-Za-z0-9+/=_-]{20,}'),
  ...shapes('api-key', 'key-', '[0-9a-f]{32,}'),
  ...shapes('api-key', 'xkeysib-', '[0-9a-f]{40,}-[A-Za-z0-9]{10,}'),
  ...shapes('private-key', 'LS0tLS1CRUdJTi', '[A-Za-z0-9+/_-]{16,}={0,2}'),
  ...shapes('private-key', 'b3BlbnNzaC1rZXktdjE', '[A-Za-z0-9+/_-]{16,}={0,2}'),
  ...shapes(
    'secret',
    'pbkdf2_sha256$ pbkdf2_sha1$ scram-sha-256$ SCRAM-SHA-256$ SCRAM-SHA-1$',
    String.raw`[\w+/=.:$-]{20,}`,
  ),
];

/** Shapes that start with a dollar or a brace: password hashes. */
export const HASH_SHAPES: readonly TokenShape[] = [
  {
    literal: '$',
    pattern: /\$(?:1|5|6|7|8|9|y|gy|apr1|2[abxy]|sha1|scrypt|argon2(?:id|i|d))\$[A-Za-z0-9./,=+$_-]{16,}/y,
    class: 'secret',
  },
  {
    literal: '{',
    pattern:
      /\{(?:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[A-Z0-9-]{0,10}|CRYPT|ARGON2|BLF-CRYPT|SHA512-CRYPT)\}[A-Za-z0-9./,=+$_-]{8,}/y,
    class: 'secret',
  },
];

/** Shapes behind a run of digits: Telegram bots, device registrations. */
export const DIGIT_SHAPES: readonly TokenShape[] = [
  { literal: ':', pattern: /:A[A-Za-z0-9_-]{32,}/y, class: 'api-key' },
];

/** A token of a Discord bot: its literal is one letter, so it is tried on words of its length only. */
export const DISCORD: TokenShape = {
  literal: '.',
  pattern: /[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}/y,
  class: 'api-key',
};

/** A token of Terraform: fourteen characters stand before its literal. */
export const TERRAFORM: TokenShape = {
  literal: '.atlasv1.',
  pattern: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}/y,
  class: 'api-key',
};

/** A client secret of Azure: three characters, a digit, `Q~`. */
export const AZURE: TokenShape = {
  literal: 'Q~',
  pattern: /[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}/y,
  class: 'api-key',
};

/** The first three bytes of every literal, so that most words are passed by with one load. */
export class TokenTable {
  readonly #shapes = new Map<number, TokenShape[]>();

  constructor() {
    // Longer literals first: `sk-ant-` says more than `sk-`.
    for (const shape of TOKEN_SHAPES.toSorted((left, right) => right.literal.length - left.literal.length)) {
      for (const third of shape.literal.length > 2 ? [0] : everyByte()) {
        const key = packLead(shape.literal, 0) | third;
        const list = this.#shapes.get(key) ?? [];
        list.push(shape);
        this.#shapes.set(key, list);
      }
    }
  }

  get literals(): string[] {
    return TOKEN_SHAPES.map(({ literal }) => literal);
  }

  /** The shape of the token that starts here, with its end; undefined where there is none. */
  at(source: string, start: number): { shape: TokenShape; end: number } | undefined {
    const candidates = this.#shapes.get(packLead(source, start));
    return candidates === undefined ? undefined : this.#match(source, start, candidates);
  }

  #match(source: string, start: number, candidates: TokenShape[]): { shape: TokenShape; end: number } | undefined {
    for (const shape of candidates) {
      const end = source.startsWith(shape.literal, start) ? matchEnd(shape, source, start) : -1;
      if (end !== -1) return { shape, end };
    }
    return undefined;
  }
}

/** Where the token of a shape ends that starts exactly here; -1 when it does not. */
export function matchEnd({ pattern }: TokenShape, source: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(source) ? pattern.lastIndex : -1;
}

function everyByte(): number[] {
  return Array.from({ length: 32 }, (_each, value) => value);
}
