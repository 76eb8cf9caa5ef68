"""The functions of an extension that Python calls: the text of its binding, made from declarations."""

import re
from collections.abc import Mapping

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# `describe` is weak: where no library has it, tensors stay without names.
_HEAD = """#include <torch/csrc/Exceptions.h>
#include <torch/extension.h>
#include <utility>
namespace mlusim_torch {
__attribute__((weak)) void describe(const at::Tensor &tensor, const std::string &name);
inline void name_one(const std::string &name, const at::Tensor &tensor) {
  if (describe) describe(tensor, name);
}
inline void name_one(const std::string &name, const std::vector<at::Tensor> &all) {
  for (size_t i = 0; i < all.size(); ++i) name_one(name + "[" + std::to_string(i) + "]", all[i]);
}
inline void name_one(const std::string &name, const std::optional<at::Tensor> &maybe) {
  if (maybe) name_one(name, *maybe);
}
template <class T> void name_one(const std::string &, const T &) {}
// The second of the two forms in which pybind11 gives a type, "@what it takes@what it is@".
inline std::string plain_type(const std::string &text) {
  std::string found;
  size_t part = 0;
  for (char letter : text) {
    if (letter == '@') part = (part + 1) % 3;
    else if (part != 1) found += letter;
  }
  return found;
}
template <class Caster> void take(Caster &caster, const char *function, const std::vector<std::string> &names, size_t at, pybind11::handle given) {
  if (caster.load(given, true)) return;
  std::string named = at < names.size() ? " (" + names[at] + ")" : "";
  throw pybind11::type_error(std::string(function) + ": argument " + std::to_string(at + 1) + named + " is " + Py_TYPE(given.ptr())->tp_name +
                             ", where " + plain_type(Caster::name.text) + " is expected");
}
// A function for Python: its tensors get the names of its parameters, and what it throws is a sentence.
template <class R, class... A, size_t... I>
void bind(pybind11::module_ &m, const char *name, R (*function)(A...), const std::vector<std::string> &names, const char *text, std::index_sequence<I...>) {
  m.def(
      name,
      [name, function, names](const pybind11::args &given) -> R {
        if (given.size() != sizeof...(A))
          throw pybind11::type_error(std::string(name) + " takes " + std::to_string(sizeof...(A)) + " argument" + (sizeof...(A) == 1 ? "" : "s") + ", and " +
                                     std::to_string(given.size()) + (given.size() == 1 ? " is" : " are") + " given");
        std::tuple<pybind11::detail::make_caster<A>...> casters;
        (take(std::get<I>(casters), name, names, I, given[I]), ...);
        HANDLE_TH_ERRORS
        if (names.size() == sizeof...(A)) (name_one(names[I], pybind11::detail::cast_op<A &>(std::get<I>(casters))), ...);
        try {
          return function(pybind11::detail::cast_op<A>(std::move(std::get<I>(casters)))...);
        } catch (const std::exception &) {
          throw;
        } catch (...) {
          throw std::runtime_error(std::string(name) + " throws something that is no std::exception");
        }
        END_HANDLE_TH_ERRORS_PYBIND
      },
      text);
}
template <class R, class... A> void bind(pybind11::module_ &m, const char *name, R (*function)(A...), const std::vector<std::string> &names, const char *text) {
  bind(m, name, function, names, text, std::index_sequence_for<A...>());
}
}  // namespace mlusim_torch
"""


def binding_text(declarations: str, functions: Mapping[str, str] | None) -> str:
    """Return C++ that gives Python *functions*, with their documents, of the text *declarations*; where None, the text does so itself."""
    if functions is None:
        return f"#include <torch/extension.h>\n{declarations}\n"
    lines = [
        f'  mlusim_torch::bind(m, "{name}", &{name}, {{{", ".join(_quoted(one) for one in parameters(declarations, name))}}}, {_quoted(text)});'
        for name, text in functions.items()
    ]
    body = "\n".join(lines)
    return f"{_HEAD}{declarations}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{body}\n}}\n"


def parameters(declarations: str, function: str) -> list[str]:
    """Return the names of the parameters of *function*; those that have none are left out."""
    plain = _COMMENT.sub(" ", declarations)
    found = re.search(rf"\b{re.escape(function)}\s*\(", plain)
    if found is None:
        return []
    names = []
    for one in _divided(plain[found.end() :]):
        # Something of a type stands before a name: a lone word is a type.
        word = re.search(r"[\w>&*\]]\s*\b([A-Za-z_]\w*)\s*(?:\[\s*\])?$", one.partition("=")[0].rstrip())
        if word is not None:
            names.append(word[1])
    return names


def _divided(text: str) -> list[str]:
    """Divide *text* at commas, up to the parenthesis that closes it."""
    depth, parts = 0, [""]
    for letter in text:
        if depth == 0 and letter == ")":
            break
        depth += letter in "(<[{"  # declarations have < for templates only
        depth -= letter in ")>]}"
        if depth == 0 and letter == ",":
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{c}" if c in '"\\' else "\\n" if c == "\n" else c for c in text) + '"'
