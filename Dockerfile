# The Node that is pinned, on Debian 12: the prebuilt socket library wants glibc, so no Alpine. A tag moves, a digest does
# not: what is built tomorrow is what was built today, and moves on when both are changed here or given.
ARG NODE_IMAGE=node:22.23.3-bookworm-slim@sha256:c3de60bf2f9dd0ac6370e6117950ff62d6e339527e7472301c9c78a017978392

# The app for people is built with packages that the server does not need: in an image of its own, of which the build stays.
FROM ${NODE_IMAGE} AS web
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY src ./src
RUN node src/cli/build-web.ts

FROM ${NODE_IMAGE}
WORKDIR /app
COPY package.json package-lock.json ./
# All native parts come prebuilt, so no script has to run. The image brings its own Node 22, and the socket library its
# builds for every system: only that for this one stays.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node /tmp/* \
  && find node_modules/uWebSockets.js/dist/bin -type f \
    ! -name "uws_$(node -p '`${process.platform}_${process.arch}_${process.versions.modules}`').node" -delete \
  && node -e "import('uWebSockets.js')"
# The packages that are left, in CycloneDX. npm calls those of development missing for as long as they are asked for, and leaves
# out what they share with the others. What the base image brings is not in it.
RUN npm pkg delete devDependencies && npm sbom --omit=dev --sbom-format cyclonedx > sbom.cdx.json
COPY LICENSE ./
COPY src ./src
COPY actors ./actors
COPY storage ./storage
COPY --from=web /app/build ./build

# The command by its own name: npx would have to write to the folder.
RUN ln -s /app/src/cli/parley.ts /usr/local/bin/parley \
  && for folder in /data /backups; do mkdir "$folder" && chown node:node "$folder" && chmod 700 "$folder"; done
ENV NODE_ENV=production PARLEY_DATA=/data PARLEY_HOST=0.0.0.0
USER node
VOLUME /data
EXPOSE 8080 8081 8082
# The messaging port opens last, and its answer comes from all threads. Whose certificate it is does not matter on loopback.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const tls = process.env.PARLEY_TLS_CERTIFICATE_FILE !== undefined; require(tls ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.PARLEY_MESSAGING_PORT ?? 8081, path: '/healthz', rejectUnauthorized: false }, (reply) => process.exit(reply.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["node", "src/cli/start.ts"]
