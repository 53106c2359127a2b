// One stream for all tabs of this browser: over HTTP/1.1 a browser has six connections to a server.
import { Stream, earlier, splitTopic } from './stream.js';

/** Topics of each tab. @type {Map<MessagePort, Set<string>>} */
const readers = new Map();
/** What tabs that came since the stream was opened have of their topics. @type {Map<string, string>} */
const asked = new Map();
/** The last word about the connection, for tabs that come later. */
let cutOff = null;
let openingTimer = 0;

const stream = new Stream((message) => {
  if (message.type === 'up') cutOff = null;
  if (message.type === 'down') cutOff = message;
  const topic = message.data?.topic;
  for (const [port, topics] of readers) {
    if (!topic || topics.has(topic)) port.postMessage(message);
  }
});

/** Opens the stream again for the topics of all tabs. Tabs that come together cost one opening. */
function reopen() {
  clearTimeout(openingTimer);
  openingTimer = setTimeout(() => {
    const wanted = new Map();
    for (const topic of [...readers.values()].flatMap((topics) => [...topics])) {
      const heard = stream.topics.get(topic);
      const position = asked.get(topic) ?? heard ?? '';
      wanted.set(topic, heard === undefined ? position : earlier(position, heard));
    }
    asked.clear();
    stream.read(wanted);
  }, 20);
}

function join(port, topics) {
  const own = new Set();
  for (const { topic, position } of topics.map(splitTopic)) {
    own.add(topic);
    asked.set(topic, asked.has(topic) ? earlier(asked.get(topic) ?? '', position) : position);
  }
  readers.set(port, own);
  if (cutOff) port.postMessage(cutOff);
  reopen();
}

// @ts-ignore: the scope of a shared worker.
self.addEventListener('connect', (event) => {
  const [port] = event.ports;
  port.addEventListener('message', ({ data }) => {
    if (data.type === 'join') join(port, data.topics);
    // Other tabs lose nothing by a topic too many; the next page opens the stream anyway.
    else if (readers.delete(port) && readers.size === 0) reopen();
  });
  port.start();
});
