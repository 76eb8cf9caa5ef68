"""Bugs that the vendor's library once had: each is to be found in the state before its fix, and gone after it.

The kernels come from the history of a checkout, each with a small program of ours that launches it on a shape that
shows the bug.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.vendor.checkout import Checkout
from mlusim.errors import UsageError

ENDINGS = (".h", ".hpp", ".mluh", ".mlu")
LEFT_OUT = ("bangpy", "docs", "samples", "test")
OLD_ROOT = "bangc-ops/"
"""The library's folder until 2023."""
ALONE = ("-ffunction-sections", "-Wl,--gc-sections")
"""Options that leave out the host functions beside a kernel, which call others of the library."""
COMMON = """\
#include <cnrt.h>
#include <cstdint>
#include <vector>
#include "{source}"
template <class T> T *room(size_t n) {{
  void *there = nullptr;
  cnrtMalloc(&there, n * sizeof(T));
  return (T *)there;
}}
template <class T, class F> T *filled(size_t n, F value) {{
  std::vector<T> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = value(i);
  T *there = room<T>(n);
  cnrtMemcpy(there, host.data(), n * sizeof(T), cnrtMemcpyHostToDev);
  return there;
}}
static cnrtDim3_t tasks(unsigned n) {{ return {{n, 1, 1}}; }}
int main() {{
  cnrtSetDevice(0);
  cnrtQueue_t queue;
  cnrtQueueCreate(&queue);
{body}
  cnrtQueueSync(queue);
  return 0;
}}
"""


@frozen
class HistoricFault:
    """A bug fixed by a commit of the vendor's library: the source, a description, and statements that launch its kernel."""

    fix: str
    number: int  # of the pull request
    source: str
    wrong: str
    body: str

    @property
    def name(self) -> str:
        """Return the name of the file with the bug."""
        return self.source.rpartition("/")[2]


_ROTATED = """\
  const int n = 6;
  float *boxes = filled<float>(5 * n, [](size_t i) { return i % 5 == 4 ? 0.3f * i : 4.0f + (i * 7) % 11; });
  float *scores = filled<float>(n, [](size_t i) { return 1.0f / (i + 2); });
  MLUKernelNmsRotated<<<tasks(4), cnrtFuncTypeUnion1, queue>>>(boxes, room<float>(5 * n), scores,
      room<float>(n), room<int32_t>(n), room<int32_t>(1), n, 5, 0.5f);"""
_PROPOSALS = """\
  const int A = {A}, H = {H}, W = {W}, hwa = A * H * W;
  auto some = [](size_t i) {{ return float(i * 37 % 101) / 101; }};
  auto box = [](size_t i) {{ return float(i / 4 % 50) + (i % 4 > 1 ? 20.0f : 0.0f); }};
  float *scores = filled<float>(hwa, some), *deltas = filled<float>(4 * hwa, [&](size_t i) {{ return some(i) / 10; }});
  float *shape = filled<float>(2, [](size_t) {{ return 100.0f; }}), *anchors = filled<float>(4 * hwa, box);
  float *variances = filled<float>(4 * hwa, [](size_t) {{ return 1.0f; }});
  mluOpGenerateProposalsV2Kernel<<<tasks(4), cnrtFuncTypeUnion1, queue>>>(scores, deltas, shape, anchors, variances,
      room<float>(16 * hwa + 256), room<float>(4 * {post}), room<float>({post}), room<int>(1), room<int>(1), {pre}, {post},
      0.5f, 0.1f, 1.0f, false, 1, A, W, H);"""
FAULTS = (
    HistoricFault(
        "a56d0b37",
        1259,
        "kernels/dynamic_point_to_voxel/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_union1.mlu",
        "tasks read a flag in GDRAM that the first task may have overwritten",
        """\
  const int points = 9, features = 16, voxels = 3;
  float *feats = filled<float>(points * features, [](size_t i) { return float(i % 13); });
  int32_t *coors = filled<int32_t>(3 * points, [](size_t i) { return i < 3 ? -1 : int(i / 3); });
  int32_t *found = filled<int32_t>(1, [](size_t) { return voxels + 1; });
  int *map = filled<int>(points, [](size_t i) { return int(i % (voxels + 1)); });
  int32_t *count = filled<int32_t>(points, [](size_t) { return 2; });
  float *sums = filled<float>((voxels + 1) * features, [](size_t) { return 0.0f; });
  MLUKernelDynamicPointToVoxelForward<<<tasks(4), cnrtFuncTypeUnion1, queue>>>(
      MLUOP_REDUCE_DMEAN, feats, points, features, coors, found, map, count, sums);""",
    ),
    HistoricFault(
        "a0ec7529",
        1186,
        "kernels/nms_rotated/nms_rotated_union1.mlu",
        "every task stores the flag that ends the loop, the suppressed score and the count",
        _ROTATED,
    ),
    HistoricFault(
        "acbe8c20",
        1178,
        "kernels/roi_align_rotated/roi_align_rotated_forward_vector.mlu",
        "an asynchronous copy reads what vectors have just written",
        """\
  const int side = 8, channels = 4;
  float *input = filled<float>(side * side * channels, [](size_t i) { return float(i % 17); });
  const float roi[6] = {0, 4, 4, 6, 5, 0.3f};
  float *rois = filled<float>(6, [&](size_t i) { return roi[i]; });
  mluOpRoiAlignRotatedParams params{true, false, 2, 2, 2, 1.0f};
  roiAlignRotatedForward<float, true><<<tasks(4), cnrtFuncTypeUnion1, queue>>>(
      input, rois, 1, side, side, channels, 1, params, room<float>(4 * channels));""",
    ),
    HistoricFault(
        "5f48cd0f",
        1160,
        "kernels/generate_proposals_v2/generate_proposals_v2_union_default.mlu",
        "every task counts the proposals in one word of GDRAM",
        _PROPOSALS.format(A=2, H=8, W=8, pre=64, post=16),
    ),
    HistoricFault(
        "1725280c",
        1150,
        "kernels/mutual_information/mutual_information_forward/mutual_information_forward_default_block.mlu",
        "loads overwrite the boundary that scalars have just been read from",
        """\
  const int S = 3, T = 4;
  auto some = [](size_t i) { return -0.1f * (i % 7); };
  float *px = filled<float>(S * (T + 1), some), *py = filled<float>((S + 1) * T, some);
  const int64_t ends[4] = {0, 0, S, T};
  int64_t *boundary = filled<int64_t>(4, [&](size_t i) { return ends[i]; });
  mluBlockDefaultMutualInformationForward<<<tasks(1), cnrtFuncTypeBlock, queue>>>(1, S, T, 0, 1, 1, 1, S + 1, T + 1,
      px, py, true, boundary, filled<float>((S + 1) * (T + 1), some), filled<float>(1, some));""",
    ),
    HistoricFault(
        "3030df94",
        1127,
        "kernels/voxelization/voxelization_kernel.mlu",
        "loads overwrite the sizes at the begin of NRAM that scalars have just been read from",
        """\
  const int points = 24000;
  float *xyz = filled<float>(3 * points, [](size_t i) { return float(i % 29) / 3; });
  float *size = filled<float>(3, [](size_t) { return 0.5f; });
  float *range = filled<float>(6, [](size_t i) { return i < 3 ? 0.0f : 8.0f; });
  mluDynamicVoxelize<<<tasks(1), cnrtFuncTypeBlock, queue>>>(xyz, size, range, room<int32_t>(3 * points), points, 3);""",
    ),
    HistoricFault(
        "7615c19b",
        786,
        "kernels/generate_proposals_v2/generate_proposals_v2_union1.mlu",
        "NRAM is cut for 27 vectors, of which there are 28",
        _PROPOSALS.format(A=9, H=40, W=40, pre=64, post=16),
    ),
    HistoricFault(
        "db12dce8",
        780,
        "kernels/focal_loss_sigmoid/focal_loss_sigmoid_backward_union1.mlu",
        "a reserved line of floats is placed by the size of a half, and ends behind NRAM",
        """\
  const int n = 8, c = 64;
  half *input = filled<half>(n * c, [](size_t i) { return half(0.01f * (i % 19)); });
  int32_t *target = filled<int32_t>(n, [](size_t i) { return int(i % c); });
  backward::MLUUnion1KernelFocalLossSigmoidBackward<half><<<tasks(4), cnrtFuncTypeUnion1, queue>>>(
      input, target, nullptr, 2.0f, 0.25f, n, 2, c, room<half>(n * c));""",
    ),
    HistoricFault(
        "881c7f5c",
        778,
        "kernels/voxel_pooling_forward/voxel_pooling_forward_union1.mlu",
        "tasks read an initial value that the first task overwrites",
        """\
  const int points = 40, channels = 8;
  int *xyz = filled<int>(3 * points, [](size_t i) { return i % 3 == 2 ? 0 : int(i % 5); });
  float *features = filled<float>(points * channels, [](size_t i) { return float(i % 7); });
  float *sums = filled<float>(16 * channels, [](size_t) { return 0.0f; });
  int *memo = filled<int>(3 * points, [](size_t) { return -1; });
  MLUKernelVoxelPoolingForward<<<tasks(4), cnrtFuncTypeUnion1, queue>>>(
      1, points, channels, 4, 4, 1, xyz, features, sums, memo);""",
    ),
    HistoricFault(
        "d7a46c13",
        776,
        "kernels/roipoint_pool3d/roipoint_pool3d_union1_large_boxes_num.mlu",
        "twelve vectors take all of NRAM behind a header that is not counted",
        """\
  const int points = 8200, features = 4, sampled = 16;
  auto some = [](size_t i) { return float(i * 31 % 97) / 9; };
  float *xyz = filled<float>(3 * points, some), *in = filled<float>(features * points, some);
  const float box[7] = {5, 5, 5, 3, 3, 3, 0.2f};
  float *boxes = filled<float>(7, [&](size_t i) { return box[i]; });
  MLUKernelRoipointPool3dLargeBoxesNum<float><<<tasks(4), cnrtFuncTypeUnion1, queue>>>(1, points, 1, features, sampled,
      (char *)xyz, (char *)in, (char *)boxes, (char *)room<float>(sampled * (3 + features)), (char *)room<int>(1));""",
    ),
    HistoricFault(
        "7863bf20",
        762,
        "kernels/nms_rotated/nms_rotated_union1.mlu",
        "a table of two entries is looked up as one of 64",
        _ROTATED,
    ),
    HistoricFault(
        "a7dee824",
        676,
        "kernels/focal_loss_sigmoid/focal_loss_sigmoid_backward_union1.mlu",
        "a weight is read for a target outside of the classes, and by the memory core",
        """\
  const int n = 8, c = 64;
  float *input = filled<float>(n * c, [](size_t i) { return 0.01f * (i % 19); });
  int32_t *target = filled<int32_t>(n, [](size_t i) { return int(i % 2) * c; });
  float *weight = filled<float>(c, [](size_t i) { return 1.0f + i; });
  backward::MLUUnion1KernelFocalLossSigmoidBackward<float><<<tasks(4), cnrtFuncTypeUnion1, queue>>>(
      input, target, weight, 2.0f, 0.25f, n, 2, c, room<float>(n * c));""",
    ),
    HistoricFault(
        "bf511c12",
        669,
        "kernels/nms_rotated/nms_rotated_union1.mlu",
        "the memory core stores a score and fills NRAM",
        _ROTATED,
    ),
)
"""The bugs, newest first."""


@frozen
class Finding:
    """A finding in the library's own code: its rule, its line and the text of that line."""

    rule: str
    line: int
    text: str


@frozen
class Found:
    """The findings of all checkers before a fix, and those after it."""

    fault: HistoricFault
    before: Sequence[Finding]
    after: Sequence[Finding]
    problem: str = ""

    @property
    def gone(self) -> list[Finding]:
        """Return the findings that the fix removed: those whose rule and statement do not occur among the findings after it."""
        left = {(finding.rule, finding.text) for finding in self.after}
        return [finding for finding in self.before if (finding.rule, finding.text) not in left]


def main(checkout: Checkout) -> int:
    """Look for every bug in the history of the *checkout*; return 1 if one is not found."""
    rows = []
    checkout.make_folder()
    for fault in FAULTS:
        row = looked_for(checkout.root, checkout.folder, fault)
        rows.append(row)
        said = row.problem or ("found" if row.gone else "not found")
        print(f"#{fault.number} {fault.name}: {said}", file=sys.stderr, flush=True)
    print(table(rows))
    return int(not all(row.gone for row in rows))


def table(rows: Sequence[Found]) -> str:
    """Return a table with a row per bug, and the sum."""
    lines = ["| fix | file | what was wrong | found |", "| --- | --- | --- | --- |"]
    for row in rows:
        fault = row.fault
        gone = row.gone
        what = (
            f"{gone[0].rule}, line {gone[0].line}" if gone else f"no{': ' * bool(row.problem)}{row.problem}"
        )
        lines.append(f"| #{fault.number} ({fault.fix}) | {fault.name} | {fault.wrong} | {what} |")
    ended = sum(bool(row.gone) for row in rows)
    return "\n".join(
        [*lines, "", f"{ended} of {len(rows)} faults are found before their fix and gone after it."]
    )


def looked_for(root: Path, folder: Path, fault: HistoricFault) -> Found:
    """Build and check the kernel of *fault* before and after its fix."""
    states = []
    with tempfile.TemporaryDirectory(prefix="mlusim-historic-") as scratch:
        for name, revision in (("before", f"{fault.fix}^"), ("after", fault.fix)):
            place = Path(scratch) / name
            write_sources(root, revision, place)
            program = place / "program"
            (place / "program.mlu").write_text(COMMON.format(source=fault.source, body=fault.body))
            words = [str(folder / "bin" / "cncc"), "-w", "-I", str(place), str(place / "program.mlu")]
            done = _run([*words, *ALONE, "-o", str(program)])
            if done.returncode:
                return Found(
                    fault, [], [], f"the state {name} the fix does not compile: {done.stderr[-300:]}"
                )
            out = place / "findings.json"
            check = [
                sys.executable,
                "-m",
                "mlusim",
                "check",
                "--format",
                "json",
                "-o",
                str(out),
                str(program),
            ]
            done = _run(check)
            if not out.is_file():
                return Found(
                    fault, [], [], f"check of the state {name} the fix: {done.stderr.strip()[-300:]}"
                )
            states.append(
                [
                    _known(finding)
                    for finding in json.loads(out.read_text())["findings"]
                    if finding.get("line")
                ]
            )
    return Found(fault, states[0], states[1])


def write_sources(root: Path, revision: str, place: Path) -> None:
    """Write headers and kernels of a *revision* of the checkout *root* to *place*; other files may be missing in a snapshot.

    Raises `UsageError` if the checkout has no such revision.
    """
    listed = _run(["git", "-C", str(root), "ls-tree", "-r", "--full-tree", revision])
    if listed.returncode:
        raise UsageError(f"{root} has no revision {revision}; the checkout needs its whole history")
    wanted = list(_wanted(listed.stdout))
    names = "".join(f"{name}\n" for name, _ in wanted).encode()
    command = ["git", "-C", str(root), "cat-file", "--batch"]
    content = subprocess.run(command, input=names, capture_output=True, check=True).stdout  # noqa: S603 - git
    at = 0
    for _, path in wanted:
        end = content.index(b"\n", at)
        *_, size = content[at:end].split()
        at = end + 1
        if size == b"missing":
            continue
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content[at : at + int(size)])
        at += int(size) + 1


def _wanted(listed: str) -> Iterator[tuple[str, str]]:
    """Yield each header and kernel in git's listing of a revision: its object, and its path in the library."""
    for line in listed.splitlines():
        head, _, path = line.partition("\t")
        inner = path.removeprefix(OLD_ROOT)
        if inner.endswith(ENDINGS) and not inner.startswith(LEFT_OUT):
            yield head.split()[2], inner


def _known(finding: dict[str, Any]) -> Finding:
    """Return a finding of the checkers with the text of its line, which identifies it when lines move."""
    lines = Path(finding["file"]).read_text(errors="replace").splitlines()
    return Finding(finding["id"], finding["line"], lines[finding["line"] - 1].strip())


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - ours
