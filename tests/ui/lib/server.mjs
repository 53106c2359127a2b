// `airside up` as a child process with a folder and ports of its own, and its API as `fly` uses it.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from './until.mjs';

const AIRSIDE = process.env.AIRSIDE_BIN ?? 'airside';

/** A server with the users `test` (owner of team main), `viewer` and `other`. Passwords are their names. */
export class Server {
  /** Starts a server and waits until it answers. */
  static async start(...options) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'airside-ui-'));
    [server.port, server.hub] = [await freePort(), await freePort()];
    server.options = options;
    await server.restart();
    server.token = await server.login('test');
    return server;
  }

  get url() { return `http://127.0.0.1:${this.port}`; }

  get log() { return readFileSync(join(this.folder, 'server.log'), 'utf8'); }

  /** Starts the server (again) on its data and ports. */
  async restart() {
    const users = ['test', 'viewer', 'other'].flatMap((name) => ['--user', `${name}:${name}`]);
    const args = ['up', '--data', join(this.folder, 'data'), '--listen', `127.0.0.1:${this.port}`,
      '--hub-listen', `127.0.0.1:${this.hub}`, '--local-network', 'machine', ...users, '--main-team-local-user', 'test',
      ...this.options];
    const log = openSync(join(this.folder, 'server.log'), 'a');
    this.child = spawn(AIRSIDE, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    await until('the server answers', async () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended:\n${this.log}`);
      const answer = await fetch(`${this.url}/api/v1/info`).catch(() => null);
      return answer?.ok;
    });
  }

  /** Ends the server as a power cut does. */
  async kill() { await this.ended('SIGKILL'); }

  /** Ends the server and removes its folder. A failed test keeps it: `keep` prints where. */
  async stop() {
    await this.ended('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async ended(signal) {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    await ended;
  }

  async login(name) {
    const form = new URLSearchParams({ grant_type: 'password', username: name, password: name });
    const answer = await fetch(`${this.url}/sky/issuer/token`, {
      method: 'POST', body: form, headers: { authorization: 'Basic Zmx5OlpteDU=' },
    });
    return (await answer.json()).access_token;
  }

  /** Makes a request as `test`, and fails with the server's words unless it went well. */
  async ask(method, path, body, type = 'application/json') {
    const answer = await fetch(this.url + path, {
      method, body, headers: { authorization: `Bearer ${this.token}`, ...(body ? { 'content-type': type } : {}) },
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text && answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  }

  /** Sets a pipeline from an object, and unpauses it. `vars` are instance vars. */
  async setPipeline(name, config, { team = 'main', vars, paused = false } = {}) {
    const query = vars ? `?vars=${encodeURIComponent(JSON.stringify(vars))}` : '';
    const path = `/api/v1/teams/${team}/pipelines/${encodeURIComponent(name)}`;
    await this.ask('PUT', `${path}/config${query}`, JSON.stringify(config));
    if (!paused) await this.ask('PUT', `${path}/unpause${query}`);
  }

  async trigger(pipeline, job) {
    return this.ask('POST', `/api/v1/teams/main/pipelines/${encodeURIComponent(pipeline)}/jobs/${encodeURIComponent(job)}/builds`);
  }

  /** Waits until a build has ended, and returns it. */
  async finished(id) {
    return until(`build ${id} ends`, async () => {
      const build = await this.ask('GET', `/api/v1/builds/${id}`);
      return ['pending', 'started'].includes(build.status) ? null : build;
    });
  }
}

/** A port of loopback that was free a moment ago. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
