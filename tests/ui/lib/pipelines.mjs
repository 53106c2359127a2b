// Pipelines that run without images or network: the base type `mock`, and tasks with this machine's programs.

/** A task that runs a line of shell. */
export const task = (name, script, more = {}) => ({
  task: name,
  config: { platform: 'linux', image_resource: { type: 'host' }, run: { path: 'sh', args: ['-ec', script] }, ...more.config },
  ...more.step,
});

const mock = (name, source = { initial_version: 'v1' }) => ({ name, type: 'mock', source });

/** One job, one task. */
export const hello = { jobs: [{ name: 'greet', public: true, plan: [task('greet', 'echo hello from a task')] }] };

/** Jobs behind each other, one of which fails. */
export const web = {
  groups: [{ name: 'test', jobs: ['unit', 'lint', 'integration'] }, { name: 'ship', jobs: ['ship'] }],
  resources: [mock('repo'), mock('image')],
  jobs: [
    { name: 'unit', plan: [{ get: 'repo' }, task('unit', 'echo ok')] },
    { name: 'lint', plan: [{ get: 'repo' }, task('lint', 'echo "\\033[31mbad style\\033[0m"; exit 1')] },
    { name: 'integration', plan: [{ get: 'repo', passed: ['unit'] }, { get: 'image' }, task('test', 'sleep 0.2; echo done')] },
    { name: 'ship', plan: [{ get: 'repo', passed: ['integration', 'lint'] }, { put: 'image', params: { version: 'v2' } }] },
  ],
};
