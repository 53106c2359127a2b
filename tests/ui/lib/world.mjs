// A server with pipelines in many states: the world that pages are looked at in.
import { task, web } from './pipelines.mjs';
import { Server } from './server.mjs';
import { until } from './until.mjs';

const LONG = `payments-reconciliation-${'nightly-'.repeat(14)}report`;

const steps = {
  resources: [{ name: 'repo', type: 'mock', source: { initial_version: 'a1b2c3d', metadata: [{ name: 'author', value: 'ana' }] } }],
  jobs: [{
    name: 'everything',
    public: true,
    on_failure: task('notify', 'echo "told the team"'),
    plan: [
      { in_parallel: [{ get: 'repo', trigger: false }, task('warm-up', 'echo warm')] },
      { ...task('flaky', 'test -e /nothing', {}), attempts: 2, ensure: task('always', 'echo cleaned') },
    ],
  }, {
    name: 'matrix',
    public: true,
    plan: [{
      across: [{ var: 'db', values: ['sqlite', 'postgres'] }],
      ...task('test', 'echo "testing with $DB"', { config: { params: { DB: '((.:db))' } } }),
    }],
  }, {
    name: 'colours',
    public: true,
    plan: [task('print', String.raw`printf '\033[1mbold\033[0m \033[31mred\033[0m <b>no html</b>\n'; seq 1 3000; printf '10%%\r55%%\r100%%\n'`)],
  }],
};

/** Builds the world: returns the server and the builds worth a look. */
export async function world() {
  const server = await Server.start();
  await server.setPipeline('web', web);
  await server.setPipeline('steps', steps);
  await server.setPipeline('waiting', { resources: [{ name: 'never', type: 'mock', source: { no_initial_version: true } }],
    jobs: [{ name: 'wait', plan: [{ get: 'never' }] }] });
  await server.setPipeline(LONG, { jobs: [{ name: 'a-job-with-a-rather-long-name-that-must-be-cut-somewhere', plan: [task('t', 'true')] }] });
  await server.setPipeline('paused', web, { paused: true });
  for (const env of ['prod', 'staging']) await server.setPipeline('deploy', web, { vars: { env } });
  await server.setPipeline('q?/#"<script>🚀', web, { paused: true }).catch(() => null);
  const run = async (pipeline, job) => server.finished((await server.trigger(pipeline, job)).id);
  const builds = {
    failed: await run('steps', 'everything'),
    matrix: await run('steps', 'matrix'),
    colours: await run('steps', 'colours'),
    unit: await run('web', 'unit'),
    lint: await run('web', 'lint'),
    again: await run('web', 'unit'),
  };
  builds.waiting = await server.trigger('waiting', 'wait');
  await until('the waiting build says why', async () => {
    const preparation = await server.ask('GET', `/api/v1/builds/${builds.waiting.id}/preparation`);
    return Object.values(preparation.inputs ?? {}).length > 0;
  });
  return { server, builds, long: LONG };
}
