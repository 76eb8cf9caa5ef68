// What the extension does in the editor, against a stand-in for the editor's own module.
import assert from "node:assert/strict";
import fs from "node:fs";
import Module, { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import test from "node:test";

const PYTHON = process.env.MLUSIM_PYTHON ?? "python3";
const KERNEL = `#include <bang.h>
__mlu_entry__ void Scale(float *dst, const float *src, int n, float factor) {
  __nram__ float buffer[256];  // the share of n
  __memcpy(buffer, src, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, factor, n);
  __memcpy(dst, buffer, n * sizeof(float), NRAM2GDRAM);
}
`;
const CALLS = `program = "scale.mlu"
kernel = "Scale"
[case.small]
args = { dst = "out:float32:n", src = "randn:float32:n", n = 64, factor = 2.5 }
[case."too long"]
dim = 1
[case."too long".args]
dst = "out:float32:n"
src = "randn:float32:n"
n = 512
factor = 2.5
`;
const TESTS = `import mlusim
import pytest

def test_name():
    assert mlusim.__name__ == "mlusim"

@pytest.mark.parametrize("word", ["a b", "c"])
def test_word(word):
    assert word == "c"

@pytest.mark.skip
def test_later():
    pass
`;

class Range {
  constructor(...numbers) {
    Object.assign(this, { numbers });
  }
}

class Lookup {
  constructor(range, name) {
    Object.assign(this, { range, name });
  }
}

class Items extends Map {
  add(item) {
    this.set(item.id, item);
  }
  replace(items) {
    this.clear();
    items.forEach((item) => this.add(item));
  }
}

const launched = [];
const trackers = [];
const outcomes = []; // what the debugger says of the next sessions
const watchers = new Set();
const results = new Map();
const profiles = new Map();
const controller = {
  items: new Items(),
  createTestItem: (id, label, uri) => ({ id, label, uri, children: new Items() }),
  createRunProfile: (name, _kind, handler) => profiles.set(name, handler),
  createTestRun: () => ({
    started() {},
    appendOutput() {},
    passed: (item) => results.set(item.label, "passed"),
    skipped: (item) => results.set(item.label, "skipped"),
    failed: (item, message) => results.set(item.label, message.text),
    end() {},
  }),
};
const folder = { uri: { fsPath: fs.mkdtempSync(path.join(os.tmpdir(), "mlusim-")) } };
const editor = {
  Range,
  InlineValueVariableLookup: Lookup,
  TestMessage: class {
    constructor(text) {
      this.text = text;
    }
  },
  RelativePattern: class {
    constructor(base, pattern) {
      Object.assign(this, { base, pattern });
    }
  },
  TestRunProfileKind: { Run: 1, Debug: 2 },
  Uri: { file: (fsPath) => ({ fsPath }) },
  debug: {
    startDebugging: async (_folder, configuration) => {
      launched.push(configuration);
      const tell = (body) =>
        trackers
          .map((one) => one.createDebugAdapterTracker({ configuration }))
          .forEach((one) => one?.onDidSendMessage({ type: "event", event: "mlusim/outcome", body }));
      outcomes.shift()?.forEach(tell);
      setImmediate(() => watchers.forEach((watch) => watch({ configuration: { testRun: "another" } })));
      setImmediate(() => watchers.forEach((watch) => watch({ configuration })));
      return true;
    },
    registerDebugAdapterTrackerFactory: (_type, factory) => {
      trackers.push(factory);
      return { dispose: () => trackers.splice(trackers.indexOf(factory), 1) };
    },
    onDidTerminateDebugSession: (watch) => {
      watchers.add(watch);
      return { dispose: () => watchers.delete(watch) };
    },
  },
  tests: { createTestController: () => controller },
  workspace: {
    workspaceFolders: [folder],
    findFiles: async ({ pattern }) =>
      [pattern.endsWith(".toml") ? "cases.toml" : "test_kernel.py"].map((name) => ({
        fsPath: path.join(folder.uri.fsPath, name),
      })),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? editor : load(name, ...rest));
const require = createRequire(import.meta.url);
const { inlineValues, names } = require("../out/inlineValues.js");
const { casesIn, explorer } = require("../out/explorer.js");

test("values are beside the lines of the function up to the stop", () => {
  const document = { getText: () => KERNEL };
  const found = inlineValues.provideInlineValues(document, undefined, { stoppedLocation: { end: { line: 4 } } });
  const lines = [1, 2, 3, 4].map((line) => found.filter((one) => one.range.numbers[0] === line).map((one) => one.name));
  assert.deepEqual(lines, [
    ["dst", "src", "n", "factor"],
    ["buffer"],
    ["buffer", "src", "n", "GDRAM2NRAM"],
    ["buffer", "factor", "n"],
  ]);
  assert.equal(found.length, 12);
  assert.deepEqual(found[4].range.numbers, [2, 17, 2, 23]);
});

test("no calls, members, strings, comments, directives or parts of numbers", () => {
  const lines = ['a.b = p->q + N::r(1.5f, 0x1Fu); /* c', "d */ printf(\"e %d\", f);", "#define g h", "i = 'j';"];
  assert.deepEqual(
    names(lines, 0, 3).map((one) => one.name),
    ["a", "p", "f", "i"],
  );
});

test("cases and tests are found, run, and debugged", async () => {
  const root = folder.uri.fsPath;
  const files = { "scale.mlu": KERNEL, "cases.toml": CALLS, "test_kernel.py": TESTS };
  Object.entries(files).forEach(([name, text]) => fs.writeFileSync(path.join(root, name), text));
  try {
    explorer(async () => PYTHON);
    await controller.resolveHandler(undefined);
    const found = [...controller.items.values()].map((file) => [file.label, [...file.children.values()]]);
    assert.deepEqual(
      found.map(([label, items]) => [label, items.map((item) => item.label)]),
      [
        ["cases.toml", ["small", "too long"]],
        ["test_kernel.py", ["test_name", "test_word[a b]", "test_word[c]", "test_later"]],
      ],
    );
    assert.deepEqual(casesIn(CALLS).map((one) => one.line), [2, 4]);
    const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
    const skipped = found[1][1][2];
    await profiles.get("Run")({ exclude: [skipped] }, token);
    const { small, "too long": long, "test_word[a b]": word, ...rest } = Object.fromEntries(results);
    assert.equal(small, "passed");
    assert.match(long, /1024 bytes past its end/);
    assert.match(word, /AssertionError|assert 'a b' == 'c'/);
    assert.deepEqual(rest, { test_name: "passed", test_later: "skipped" });
    // The verdict is that of the debugged run, its last word, and no other run is made for it.
    const [failing, good] = [
      { passed: false, edited: false, text: "the fault" },
      { passed: true, edited: true, text: "" },
    ];
    for (const [said, verdict] of [[[failing], "the fault"], [[failing, good], "passed"], [[], "skipped"]]) {
      results.clear();
      outcomes.push(said);
      await profiles.get("Debug")({ include: [found[0][1][1]] }, token);
      assert.equal(results.get("too long"), verdict);
    }
    assert.equal(watchers.size + trackers.length, 0);
    assert.equal(launched[0].program, path.join(root, "cases.toml"));
    assert.equal(launched[0].case, "too long");
  } finally {
    fs.rmSync(root, { recursive: true });
  }
});
