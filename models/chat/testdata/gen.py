"""Makes goldens of chat templates: what Hugging Face's transformers makes of conversations.

    pip install transformers jinja2
    python testdata/gen.py                  # testdata/golden.json of testdata/*.jinja and the cases below
    python testdata/gen.py FOLDER           # FOLDER/golden.json of published templates, FOLDER/*.jinja
"""
import json
import pathlib
import sys
from datetime import datetime

from transformers.utils import chat_template_utils

CALL = {"id": "call12345", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "units": ["°C"], "exact": True}}}
TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city.", "parameters": {
        "type": "object", "properties": {
            "city": {"type": "string", "description": "Which \"city\" <b>&co</b>"},
            "days": {"type": "integer", "default": 1}, "units": {"type": "array", "items": {"type": "string"}},
            "exact": {"type": "boolean", "enum": [True, False]}}, "required": ["city"]}}}
TOOL2 = {"type": "function", "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}}
U, A, S = ({"role": r, "content": c} for r, c in [("user", "Why is the sky blue? 你好"), ("assistant", "  Rayleigh\nscattering. "), ("system", "Be brief.\n")])
U2 = {"role": "user", "content": "And at 5 o'clock: \"red\"?"}
THOUGHT = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nIt is."}
REASON = {"role": "assistant", "content": "It is.", "reasoning_content": "Well,\nhm."}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "content": "{\"temp\": 7.5}", "tool_call_id": "call12345", "name": "get_weather"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Hello "}, {"type": "text", "text": "there"}]}
IMAGE = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}
G = {"add_generation_prompt": True}
CASES = [
    ([U], {}), ([U], G), ([S, U], G), ([U, A, U2], G), ([S, U, A, U2, A], {}), ([S, U, THOUGHT, U2], G), ([U, REASON, U2, REASON], {}),
    ([U], {**G, "enable_thinking": False}), ([S, U], {**G, "enable_thinking": True}), ([U], {**G, "tools": [TOOL, TOOL2]}),
    ([S, U, CALLS, RESULT], {**G, "tools": [TOOL]}), ([U, CALLS, RESULT, A, U2], {**G, "tools": [TOOL, TOOL2]}),
    ([U, CALLS, RESULT, RESULT, A], {}), ([PARTS], G), ([IMAGE], G), ([A, U], G), ([U, U2], G), ([S], G), ([], G),
    ([{"role": "developer", "content": "Be kind."}, U], G), ([{"role": "odd", "content": "x"}], {}),
    ([U], {**G, "documents": [{"title": "Sky", "text": "It is blue."}]}), ([S, U], {**G, "reasoning_effort": "high", "builtin_tools": ["python"]}),
]
EXPRESSIONS = [
    "1 + 2 * 3 ** 2 // 4 % 5 - -1", "7 / 2, 7 // -2, -7 % 3, 2 ** -1, 1e20, 0.1 + 0.2, 1.0, 1e-7, 100000.0 * 1e11", "'a' ~ 1 ~ none ~ true ~ 1.5 ~ [1, 'b', (2,), {'c': \"d'\"}]",
    "'abc'[1], 'abc'[-1], 'héllo'[1:3], 'abcdef'[::-1], [1, 2, 3, 4][-2:], 'abcdef'[4:1:-2], [1,2,3][10:], 'ab'[:-5]", "'a' in 'cab', 1 in [1, 2], 'k' in {'k': 1}, 3 not in [1]",
    "1 < 2 < 3, 1 < 3 < 2, 'a' < 'b', [1, 2] < [1, 3], 1 == 1.0, true == 1, 'a' == 1, none == none", "not true or false and true, 1 and 2, 0 or 'x', '' and 1", "'x' if false else 'y', ('z' if false) is defined",
    "undef is defined, undef is undefined, none is none, 'a' is string, 1 is number, true is number, 1 is integer, true is integer, true is boolean, 1.5 is float, {} is mapping, [] is iterable, 'a' is iterable, 1 is iterable, [] is sequence, {} is sequence",
    "3 is odd, 4 is even, 6 is divisibleby 3, 1 is eq 1, 1 is ne(2), 1 is in [1], 2 is gt 1, 'a' is lower, 'A' is upper, range is callable, true is true, 1 is true, none is not none",
    "' a b '.strip() ~ '|' ~ 'xxaxx'.strip('x') ~ '|' ~ 'xa'.lstrip('x') ~ '|' ~ 'ax '.rstrip()", "'a,b,,c'.split(','), ' a  b '.split(), 'a b c'.split(' ', 1), 'a b c'.rsplit(' ', 1), 'a b  c '.split(none, 1), 'a b c'.rsplit(none, 1), ''.split(), ''.split(',')",
    "'abc'.startswith('ab'), 'abc'.endswith(('x', 'c')), 'abc'.find('c'), 'abc'.rfind('z'), 'aXbX'.replace('X', '-', 1), 'aXbX'.replace('X', ''), 'abab'.count('ab'), ', '.join(['a', 'b'])",
    "'hello wORLD it\\'s'.title(), 'hELLO'.capitalize(), 'aB'.upper(), 'aB'.lower(), 'a\\nb\\r\\nc'.splitlines(), '12'.isdigit(), 'a1'.isalnum(), ''.isalpha(), 'prefix'.removeprefix('pre'), '7'.zfill(3), 'a-b'.partition('-')",
    "{'a': 1, 'b': [2]}.items() | list, {'a': 1}.keys() | list, {'a': 1}.values() | list, {'a': 1}.get('b'), {'a': 1}.get('b', 2), {'a': {'b': 3}}.a.b, {'a': 1}['a'], [[1, 2]].0.1",
    "{'b': 1, 'a': [1, 2.5, none, true, 'é\"\\\\\\n<&>\\u007f'], 'c': {}, 'd': []} | tojson", "{'b': 1, 'a': [1, {'x': 2}, []]} | tojson(indent=2)", "{'b': 1, 'a': 'é😀'} | tojson(sort_keys=true, ensure_ascii=true, separators=(',', ':'))", "[1, {'a': 2}] | tojson(indent=0)", "1e20 | tojson, 1.0 | tojson",
    "'abc' | length, [1, 2] | count, {} | length, 'a b' | wordcount", "undef | default('d'), none | default('d'), none | default('d', true), '' | d('e', boolean=true)", "[3, 1, 2] | sort, ['b', 'A', 'c'] | sort, [1, 2] | sort(reverse=true), [{'a': 2}, {'a': 1}] | sort(attribute='a')",
    "[1, 2, 3] | first, [1, 2, 3] | last, 'abc' | first, [] | first is defined, [1, 2] | reverse | list, 'abc' | reverse", "[1, 2, 3] | map('string') | join('+'), [{'n': {'m': 1}}] | map(attribute='n.m') | list, ['a '] | map('trim') | list, [{}] | map(attribute='x', default=0) | list, ['a', 'b'] | map('replace', 'a', 'z') | list",
    "[1, 2, 3, 4] | select('odd') | list, [1, 2, 0] | select | list, [1, 2, 3] | reject('gt', 1) | list, [{'r': 'a'}, {'r': 'b'}, {}] | selectattr('r', 'equalto', 'a') | list, [{'r': 1}, {}] | rejectattr('r') | list, [{'r': none}] | selectattr('r', 'none') | list, [{'r': 1}, {}] | selectattr('r', 'defined') | list",
    "'12' | int, 'x' | int, 'x' | int(7), 3.9 | int, '1.5' | float, true | int, none | int", "{'b': 2, 'A': 1} | dictsort, {'a': 2, 'b': 1} | dictsort(by='value'), {'a': 1} | items | list", "'a\\nb\\n\\nc' | indent, 'a\\nb' | indent(2, true), 'a\\n\\nb' | indent(width='> ', blank=true)",
    "'<a href=\"x\">&\\'' | e, '<b>' | safe, '<b>' | safe + '<c>' + 'd' | e, '<' + ('>' | safe), '<' | safe ~ '<', [1, 1, 2] | unique | list, ['a', 'A'] | unique | list, [1, 2] | sum, [{'x': 1}] | sum(attribute='x'), [3, 1] | min, [3, 1] | max, 2.567 | round(2), 2.5 | round, 2.1 | round(method='ceil'), -3 | abs",
    "'%s-%d' | format('a', 3), '%s %s' % (1, 'b'), '{} {} {x}'.format(1, 'b', x=2), '{{{0}}}'.format(3), 'ab' * 3, [1] * 2, [1] + [2], (1,) + (2,)", "range(3) | list, range(1, 7, 2) | list, range(3, 0, -1) | list, dict(a=1, b=2), namespace(x=5).x", "[1, 2, 3, 4, 5] | batch(2) | list, [1, 2, 3] | batch(2, 'x') | list, [{'k': 1, 'v': 2}, {'k': 1, 'v': 3}, {'k': 0}] | groupby('k') | map('first') | list",
    "'a' 'b' \"c\\x41\\u00e9\\n\" ~ '\\q'", "undef", "none.x", "undef.x", "undef['x']", "undef + 'a'", "1 + 'a'", "1 / 0", "'a'.nope", "'a'.nope()", "[].append(1)", "{}.update({})", "{}.a.b", "undef | tojson", "[1, 'a'] | sort", "raise_exception('no: ' ~ 1)", "'abc' | upper | lower ~ 'X'", "-1 | abs, -'a' | length", "- 2 ** 2, 2 ** 3 ** 2",
    "10 | string | length, [1, 2][0] ~ '' , (1, 2) | join(','), true | string, 'x' is eq 'x' and 1 is not eq 2", "strftime_now('%d %b %Y %H:%M %-d %% %A')", "'a' if undef else 'b' if none else 'c'", "[x, 1] if x is defined else 0", "{'a': 1,}, [1,], (1,)", "{1: 'a', none: 2}[1], {'a': 1} == {'a': 1}, [1, [2]] == [1, [2]], (1,) == [1]",
    "[] | map('upper') is defined and ([] | map('upper')) is iterable, 'yes' if [] | select else 'no'", "[1] | map('string') | length", "[1] | map('string') | tojson", "[1] | select + [2]", "([1] | select)[0] is defined",
    "messages[0].role, messages[-1]['content'], messages | length, messages[0].nope is defined", "('a', 'b')[1], (), ((1))", "true and not false, not 1 == 2, 1 is not none and 2 is defined", "7 if 1 in [1] else 8", "'abc'|replace('b', 1), 'x'|trim('x'), ' y '|trim ~ '.'",
]
STATEMENTS = [
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.nextitem }};{% else %}none{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}", "{% for k, v in {'a': 1, 'b': 2}.items() if v > 1 %}{{ k }}={{ v }} {{ loop.length }}{% endfor %}", "{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "{% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% if false %}a{% elif 1 %}{% set y = 3 %}b{% else %}c{% endif %}{{ y }}",
    "{% macro f(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}|{% endmacro %}{{ f(1) }}{{ f(1, c=5) }}{{ f() }}{{ f(1, 2, 3) }}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}[{{ caller(1) }}]{% endmacro %}{% call(x) f() %}c{{ x }}{% endcall %}",
    "{% set t %} a {{ 1 }} {% endset %}[{{ t }}]{% set u | upper | trim %} b {% endset %}[{{ u }}]", "{% filter upper %}abc{{ 'd' }}{% endfilter %}", "{% set a, b = 1, 'x' %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}", "{% generation %}x{% endgeneration %}", "{% raw %}{{ x }} {% y %}{% endraw %}z", "a {# b #} c {#- d -#} e",
    "  {% if true %}\n  a\n  {%- if true %}\n b {% endif -%}\n  c\n  {% endif %}\n  d\n", "a\n{{- 1 -}}\nb\n{{ 2 }}\nc\n\n", "x\n  {%+ if true %}y{% endif +%}\nz", "{%- set x = 1 -%}\n\n  {{ x }}\n", "line {% if true %}\n\n  two\n{% endif %}\n\nend\n", "  {# comment #}\n  a", "\t{% set x = 2 %}  \n{{ x }}",
    "{% macro g() %}{{ v }}{% endmacro %}{% set v = 7 %}{{ g() }}", "{% for i in [1, 2] %}{% for j in [3] %}{{ loop.index }}{{ i }}{{ j }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for m in messages %}{{ m.role + ': ' + m['content'] | trim }}\n{% endfor %}", "{{ '}}' }}{{ \"%}\" }}{{ {'a': {'b': 1}}['a']['b'] }}", "{% for a, b in [(1, 2), [3, 4]] %}{{ a + b }},{% endfor %}",
    "{% set x = 5 %}{% macro h(x) %}{% set x = x + 1 %}{{ x }}{% endmacro %}{{ h(1) }}{{ x }}", "{% for c in 'hé' %}{{ c }}.{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}", "{% set messages = messages[1:] %}{{ messages | length }}", "{% for x in [1, 1, 2] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}",
    "{% set g = [1, 2] | select %}{{ g | list }}{{ g | list }}{{ 1 in g }}", "{% for x in [1] %}{% continue %}{% else %}e{% endfor %}{% for x in [1] %}{% break %}{% else %}e{% endfor %}{% for x in [1, 2] %}{% if x == 2 %}{% break %}{% endif %}{% else %}e{% endfor %}",
    "{% if x is defined and x %}1{% endif %}{% if not x %}2{% endif %}", "{% for x in undef %}a{% else %}b{% endfor %}", "{% set a = [] %}{% set a = a + [1] %}{{ a }}", "{% set l = namespace() %}{% set l.q = 1 %}{{ l.q }}", "{{ 1 }", "{% if %}", "{% endif %}", "{% for x %}", "{{ 'a }}", "{{ 1 | nofilter }}", "{% nope %}", "{% if true %}", "{{ (1 }}", "{# a",
    "{% set ns = namespace(a=[]) %}{% for i in range(3) %}{% set ns.a = ns.a + [i * 2] %}{% endfor %}{{ ns.a | tojson }}", "{%- if 1 -%} a {%- else -%} b {%- endif -%}", "{%if 1%}a{%endif%}{{1}}{{-2-}}", "{{ '\n' }}x{{ '\\n' }}", "{% for x in [1,2] -%}\n  {{ x }}\n{%- endfor %}", "{% for x in [1,2] %}\n  {{ x }}\n{% endfor %}\n",
]


class Fixed(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 7, 4, 9, 5, 6)


chat_template_utils.datetime = Fixed
COMPILED = {}


def render(template, messages, options):
    try:
        if template not in COMPILED:
            COMPILED[template] = chat_template_utils._compile_jinja_template(template)
        options = {"tools": None, "documents": None, "add_generation_prompt": False, "bos_token": "<s>", "eos_token": "</s>", **options}
        return {"text": COMPILED[template].render(messages=json.loads(json.dumps(messages)), **options)}
    except Exception as e:
        return {"error": type(e).__name__ + ": " + str(e)[:120]}


def corpus(folder):
    cases = [{"messages": m, "options": o} for m, o in CASES]
    templates = []
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        templates.append({"name": path.name, "rows": [render(source, m, o) for m, o in CASES]})
    return {"cases": cases, "templates": templates}


if len(sys.argv) > 1:
    folder = pathlib.Path(sys.argv[1])
    out = corpus(folder)
else:
    folder = pathlib.Path(__file__).parent
    out = corpus(folder)
    small = [{"source": s, **render(s, [S, U], {})} for s in STATEMENTS + ["{{ " + e + " }}" for e in EXPRESSIONS]]
    out["small"] = small
(folder / "golden.json").write_text(json.dumps(out, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
