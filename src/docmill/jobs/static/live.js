// Changes as they happen: a stream of server-sent events, and questions now and then where the
// stream is cut. Nothing is asked while nothing is under way.

const SILENCE_MS = 40_000; // the server says something every 15 s
const ASK_MS = 2_000;
const SLOWEST_MS = 15_000;
const HOPELESS = 3;

export class Live {
  // `address(path, since)` makes an address, `tell(name, data)` takes an event, `lost(bool)` is told
  // whether the server can be reached at all.
  constructor({ since, address, tell, lost }) {
    Object.assign(this, { since, address, tell, lost });
    this.failures = 0;
    this.active = true; // until the server says otherwise
    addEventListener("online", () => this.wake());
    addEventListener("pagehide", () => this.rest());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.wake();
      else if (!this.busy()) this.rest();
    });
    setInterval(() => this.watch(), 10_000);
    this.open();
  }

  busy() {
    return this.active;
  }

  // Something is about to change, or somebody looks: be there.
  wake() {
    this.active = true;
    if (this.source) return;
    this.failures = 0;
    this.open();
    this.askIn(0);
  }

  rest() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.asking);
    clearTimeout(this.opening);
    this.asking = this.opening = 0;
  }

  restart(since) {
    this.rest();
    this.since = since;
    this.active = true;
    this.open();
  }

  open() {
    clearTimeout(this.opening);
    const source = new EventSource(this.address("/queue/events", this.since));
    this.source = source;
    this.heard = Date.now();
    source.onopen = () => {
      this.failures = 0;
      clearTimeout(this.asking);
      this.asking = 0;
      this.lost(false);
    };
    source.onerror = () => this.cut(source);
    for (const name of ["row", "deleted", "beat"])
      source.addEventListener(name, (event) => {
        this.heard = Date.now();
        if (event.lastEventId) this.since = event.lastEventId;
        if (name !== "beat") this.tell(name, event.data);
      });
  }

  cut(source) {
    source.close();
    if (this.source !== source) return;
    this.source = null;
    this.failures += 1;
    if (!this.asking) this.askIn(this.failures > 1 ? 0 : 500);
    if (this.failures < HOPELESS || this.active) {
      const wait = Math.min(1000 * 2 ** this.failures, 30_000);
      this.opening = setTimeout(() => this.open(), wait);
    }
  }

  watch() {
    if (this.source?.readyState === EventSource.OPEN && Date.now() - this.heard > SILENCE_MS)
      this.cut(this.source);
  }

  askIn(wait) {
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(wait), wait);
  }

  async ask(waited) {
    const answer = await fetch(this.address("/queue/changes", this.since)).catch(() => null);
    const news = answer?.ok ? await answer.json().catch(() => null) : null;
    if (!this.asking) return; // the stream came back meanwhile
    this.lost(!news);
    if (!news) return this.askIn(Math.min(Math.max(waited * 1.5, ASK_MS), SLOWEST_MS));
    this.since = news.since;
    this.active = news.active > 0;
    for (const { name, data } of news.events) this.tell(name, data);
    if (news.more) return this.askIn(0);
    if (news.active) return this.askIn(ASK_MS);
    this.asking = 0;
    if (this.failures >= HOPELESS) clearTimeout(this.opening); // nothing to wait for
  }
}
