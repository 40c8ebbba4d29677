// Package jinja runs templates of Jinja as chat templates use it.
//
//	t, err := jinja.Parse("{% for m in messages %}{{ m.role }}{% endfor %}")
//	text, err := t.Render(map[string]jinja.Value{"messages": list}, time.Now())
//
// A template is tokens (lex), then statements and expressions (parse), which a run goes through
// with a scope for each loop, macro and block. Values are Go's, with lists and mappings of this
// package, which keep the order of keys; templates cannot change them. What they do is Python's:
// text of values, comparisons, slices, methods of strings, and filters whose results can be gone
// through once. A run counts steps and bytes.
package jinja
