# Node 22 on Debian 12: the prebuilt socket library wants glibc, so no Alpine.
FROM node:22-bookworm-slim

WORKDIR /app
COPY package.json package-lock.json ./
# The image brings its own Node 22, so the one pinned as a dependency need not be carried along.
RUN npm ci --omit=dev && npm cache clean --force && rm -rf node_modules/node-linux-* node_modules/.bin/node
COPY LICENSE ./
COPY src ./src
COPY actors ./actors
COPY storage ./storage

RUN mkdir /data && chown node:node /data && chmod 700 /data
ENV NODE_ENV=production PARLEY_DATA=/data PARLEY_HOST=0.0.0.0
USER node
VOLUME /data
EXPOSE 8080 8081 8082
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PARLEY_COORDINATOR_PORT ?? 8080) + '/healthz').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/main.ts"]
