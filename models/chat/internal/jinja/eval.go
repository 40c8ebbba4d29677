package jinja

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Bounds of one rendering.
const (
	maxSteps  = 4_000_000
	maxOutput = 64 << 20 // bytes, of every string
	maxRange  = 100_000
	maxIndent = 1000
	costBytes = 64 // bytes of text that count as one step
)

// ErrBudget says that a template asks for too much work or output.
var ErrBudget = errors.New("the template takes too many steps or makes too much text")

// errBreak and errContinue leave the body of a loop.
var (
	errBreak    = errors.New("break is outside of a loop")
	errContinue = errors.New("continue is outside of a loop")
)

// Template is a template that was parsed. It is safe for concurrent use.
type Template struct{ body []*node }

// Parse reads a template, with trim_blocks and lstrip_blocks.
func Parse(src string) (*Template, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	body, _, err := p.body()
	if err != nil {
		return nil, err
	}
	return &Template{body}, nil
}

// scope has the variables of a part of a template.
type scope struct {
	vars   map[string]Value
	parent *scope
}

func (s *scope) child() *scope { return &scope{vars: map[string]Value{}, parent: s} }

func (s *scope) find(name string) (Value, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// run is one rendering.
type run struct {
	out   strings.Builder
	steps int
	depth int
	now   time.Time
}

// Render returns the text that a template makes with variables. now is what strftime_now shows.
func (t *Template) Render(vars map[string]Value, now time.Time) (string, error) {
	r := &run{now: now}
	global := &scope{vars: maps.Clone(globals)}
	maps.Copy(global.vars, vars)
	if err := r.body(t.body, global.child()); err != nil {
		return "", err
	}
	return r.out.String(), nil
}

// charge counts n steps.
func (r *run) charge(n int) error {
	if r.steps += n; r.steps > maxSteps {
		return ErrBudget
	}
	return nil
}

// size is how many steps it takes to look at all of a value's own text.
func size(v Value) int {
	s, _ := plain(v).(string)
	return len(s) / costBytes
}

// made counts a string that was made.
func (r *run) made(s string) (Value, error) {
	if len(s) > maxOutput {
		return nil, ErrBudget
	}
	return s, r.charge(1 + len(s)/costBytes)
}

func (r *run) write(s string) error {
	if r.out.Len()+len(s) > maxOutput {
		return ErrBudget
	}
	r.out.WriteString(s)
	return r.charge(1 + len(s)/costBytes)
}

// located adds the line to an error that has none.
func located(line int, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) || errors.Is(err, errBreak) || errors.Is(err, errContinue) {
		return err
	}
	if errors.Is(err, ErrBudget) {
		return fmt.Errorf("template line %d: %w", line, ErrBudget)
	}
	return &Error{line, err.Error()}
}

func (r *run) body(list []*node, s *scope) error {
	for _, n := range list {
		if err := r.charge(1); err != nil {
			return located(n.line, err)
		}
		if err := r.node(n, s); err != nil {
			return located(n.line, err)
		}
	}
	return nil
}

func (r *run) node(n *node, s *scope) error {
	switch n.kind {
	case "text":
		return r.write(n.text)
	case "print":
		v, err := r.eval(n.expr, s)
		if err != nil {
			return err
		}
		return r.show(v)
	case "if":
		v, err := r.eval(n.expr, s)
		if err != nil {
			return err
		}
		if truth(v) {
			return r.body(n.body, s)
		}
		return r.body(n.orElse, s)
	case "for":
		return r.loop(n, s)
	case "set":
		v, err := r.eval(n.expr, s)
		if err != nil {
			return err
		}
		return r.assign(n.list, v, s)
	case "block":
		return r.body(n.body, s)
	case "break":
		return errBreak
	case "continue":
		return errContinue
	case "macro":
		s.vars[n.text] = r.macro(n, s)
		return nil
	case "call":
		return r.callBlock(n, s)
	}
	return r.captured(n, s) // setblock and filter
}

// captured runs a body whose text is a value.
func (r *run) captured(n *node, s *scope) error {
	text, err := r.capture(n.body, s.child())
	if err != nil {
		return err
	}
	inner := s.child()
	inner.vars[bodyName] = text
	v, err := r.eval(n.expr, inner)
	if err != nil {
		return err
	}
	if n.kind == "setblock" {
		return r.assign(n.list, v, s)
	}
	return r.show(v)
}

// bodyName is the name of the text of a block, which no template can spell.
const bodyName = " body"

// capture returns the text that a body makes.
func (r *run) capture(list []*node, s *scope) (string, error) {
	outer := r.out
	r.out = strings.Builder{}
	err := r.body(list, s)
	text := r.out.String()
	r.out = outer
	return text, err
}

func (r *run) assign(targets []*expr, v Value, s *scope) error {
	if len(targets) == 1 {
		return r.assignOne(targets[0], v, s)
	}
	list, err := r.items(v)
	if err != nil {
		return err
	}
	if len(list) != len(targets) {
		return fmt.Errorf("%d values for %d names", len(list), len(targets))
	}
	for i, t := range targets {
		if err := r.assignOne(t, list[i], s); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) assignOne(t *expr, v Value, s *scope) error {
	if t.op == "name" {
		s.vars[t.name] = v
		return nil
	}
	of, err := r.eval(t.args[0], s)
	if err != nil {
		return err
	}
	d, ok := of.(*Dict)
	if !ok || !d.namespace {
		return fmt.Errorf("%q can be set in a namespace only", t.name)
	}
	d.set(t.name, v)
	return nil
}

// loopState is the variable loop.
type loopState struct {
	items   []Value
	i       int
	changed Value
}

func (r *run) loop(n *node, s *scope) error {
	v, err := r.eval(n.expr, s)
	if err != nil {
		return err
	}
	items, err := r.items(v)
	if err != nil {
		return err
	}
	if n.cond != nil {
		if items, err = r.filtered(n, items, s); err != nil {
			return err
		}
	}
	state := &loopState{items: items, changed: &undefined{}}
	whole := false // whether a pass came to its end: else is for loops of which none did
	for i, item := range items {
		state.i = i
		inner := s.child()
		inner.vars["loop"] = state
		if err := r.assign(n.list, item, inner); err != nil {
			return err
		}
		err := r.body(n.body, inner)
		if errors.Is(err, errBreak) {
			break
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
		whole = whole || err == nil
	}
	if !whole {
		return r.body(n.orElse, s)
	}
	return nil
}

// filtered returns the items for which the condition of a loop holds.
func (r *run) filtered(n *node, items []Value, s *scope) ([]Value, error) {
	var out []Value
	for _, item := range items {
		inner := s.child()
		if err := r.assign(n.list, item, inner); err != nil {
			return nil, err
		}
		v, err := r.eval(n.cond, inner)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			out = append(out, item)
		}
	}
	return out, nil
}

// macro makes a function of a body.
func (r *run) macro(n *node, s *scope) *Func {
	return &Func{n.text, func(r *run, a *args) (Value, error) {
		if r.depth++; r.depth > maxDepth {
			return nil, fmt.Errorf("more than %d macros call each other", maxDepth)
		}
		defer func() { r.depth-- }()
		inner := s.child()
		caller, ok := a.kw["caller"]
		if ok {
			delete(a.kw, "caller")
			inner.vars["caller"] = caller
		}
		for _, p := range n.params {
			v := a.take(p.name, &undefined{fmt.Sprintf("parameter %q", p.name)})
			if _, none := v.(*undefined); none && p.without != nil {
				var err error
				if v, err = r.eval(p.without, inner); err != nil {
					return nil, err
				}
			}
			inner.vars[p.name] = v
		}
		if err := a.done(); err != nil {
			return nil, err
		}
		return r.captureValue(n.body, inner)
	}}
}

func (r *run) captureValue(list []*node, s *scope) (Value, error) {
	text, err := r.capture(list, s)
	if err != nil {
		return nil, err
	}
	return text, nil
}

func (r *run) callBlock(n *node, s *scope) error {
	body := &node{kind: "macro", text: "caller", params: n.params, body: n.body}
	f, a, err := r.callee(n.expr, s)
	if err != nil {
		return err
	}
	a.kw["caller"] = r.macro(body, s)
	v, err := f.call(r, a)
	if err != nil {
		return err
	}
	return r.show(v)
}

// show writes the text of a value.
func (r *run) show(v any) error {
	text, err := r.text(v)
	if err != nil {
		return err
	}
	return r.write(text)
}

// callee evaluates a function and its arguments.
func (r *run) callee(e *expr, s *scope) (*Func, *args, error) {
	v, err := r.eval(e.args[0], s)
	if err != nil {
		return nil, nil, err
	}
	f, ok := v.(*Func)
	if u, none := v.(*undefined); none {
		return nil, nil, u.err()
	}
	if !ok {
		return nil, nil, fmt.Errorf("a %s cannot be called", typeName(v))
	}
	a, err := r.argsOf(f.name, e, e.args[1:], s)
	return f, a, err
}

func (r *run) argsOf(name string, e *expr, list []*expr, s *scope) (*args, error) {
	a := &args{name: name, kw: map[string]Value{}}
	for _, x := range list {
		v, err := r.eval(x, s)
		if err != nil {
			return nil, err
		}
		a.list = append(a.list, plain(v))
		if err := r.charge(size(v)); err != nil {
			return nil, err
		}
	}
	for _, k := range e.kw {
		v, err := r.eval(k.expr, s)
		if err != nil {
			return nil, err
		}
		if err := r.charge(size(v)); err != nil {
			return nil, err
		}
		a.kw[k.name], a.keys = plain(v), append(a.keys, k.name)
	}
	return a, nil
}

// eval returns the value of an expression.
func (r *run) eval(e *expr, s *scope) (Value, error) {
	if err := r.charge(1); err != nil {
		return nil, located(e.line, err)
	}
	v, err := r.operation(e, s)
	return v, located(e.line, err)
}

func (r *run) operation(e *expr, s *scope) (Value, error) {
	switch e.op {
	case "const":
		return e.value, nil
	case "name":
		if v, ok := s.find(e.name); ok {
			return v, nil
		}
		return &undefined{fmt.Sprintf("%q", e.name)}, nil
	case "body":
		v, _ := s.find(bodyName)
		return v, nil
	case "and", "or", "if":
		return r.conditional(e, s)
	case "call":
		f, a, err := r.callee(e, s)
		if err != nil {
			return nil, err
		}
		return f.call(r, a)
	case "filter", "test":
		a, err := r.argsOf(e.name, e, e.args, s)
		if err != nil {
			return nil, err
		}
		if e.op == "test" {
			return r.test(e.name, a)
		}
		return r.filter(e.name, a)
	case "list", "tuple":
		out := &List{tuple: e.op == "tuple"}
		for _, x := range e.args {
			v, err := r.eval(x, s)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, v)
		}
		return out, nil
	}
	var list [4]Value
	if e.op == "dict" {
		return r.dict(e, s)
	}
	for i, x := range e.args {
		if x == nil {
			continue
		}
		var err error
		if list[i], err = r.eval(x, s); err != nil {
			return nil, err
		}
		if e.op != "+" {
			list[i] = plain(list[i])
		}
	}
	return r.operator(e, list)
}

// operator is an operation of values.
func (r *run) operator(e *expr, v [4]Value) (Value, error) {
	switch e.op {
	case "attr":
		if err := r.charge(size(v[0])); err != nil {
			return nil, err
		}
		return r.attr(v[0], e.name)
	case "index":
		return r.index(v[0], v[1])
	case "slice":
		return r.slice(v)
	case "not":
		return !truth(v[0]), nil
	case "in", "not in":
		ok, err := r.contains(v[1], v[0])
		return ok == (e.op == "in"), err
	case "==", "!=":
		ok, err := r.equal(v[0], v[1])
		return ok == (e.op == "=="), err
	case "<", "<=", ">", ">=":
		c, err := r.order(v[0], v[1])
		return map[string]bool{"<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[e.op], err
	case "~":
		a, err := r.text(v[0])
		if err != nil {
			return nil, err
		}
		b, err := r.text(v[1])
		if err != nil {
			return nil, err
		}
		return r.made(a + b)
	}
	return r.arithmetic(e.op, v[0], v[1])
}

func (r *run) conditional(e *expr, s *scope) (Value, error) {
	v, err := r.eval(e.args[0], s)
	if err != nil {
		return nil, err
	}
	switch {
	case e.op == "if" && truth(v):
		return r.eval(e.args[1], s)
	case e.op == "if" && len(e.args) == 2:
		return &undefined{"the value of an if without else"}, nil
	case e.op == "if":
		return r.eval(e.args[2], s)
	case truth(v) == (e.op == "or"):
		return v, nil
	}
	return r.eval(e.args[1], s)
}

func (r *run) dict(e *expr, s *scope) (Value, error) {
	d := NewDict()
	for i := 0; i < len(e.args); i += 2 {
		k, err := r.eval(e.args[i], s)
		if err != nil {
			return nil, err
		}
		if k = plain(k); !isHashable(k) {
			return nil, fmt.Errorf("a %s cannot be a key", typeName(k))
		}
		v, err := r.eval(e.args[i+1], s)
		if err != nil {
			return nil, err
		}
		d.set(k, v)
	}
	return d, nil
}

// index is v[k].
func (r *run) index(v, k Value) (Value, error) {
	i, isInt := whole(k)
	switch x := v.(type) {
	case *undefined:
		return nil, x.err()
	case *Dict:
		if isHashable(k) {
			if found, ok := x.values[k]; ok {
				return found, nil
			}
		}
	case *List:
		if x.lazy {
			break
		}
		if i < 0 {
			i += int64(len(x.Items))
		}
		if isInt && i >= 0 && i < int64(len(x.Items)) {
			return x.Items[i], nil
		}
	case string:
		if !isInt {
			break
		}
		runes, err := r.runes(x)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			i += int64(len(runes))
		}
		if i >= 0 && i < int64(len(runes)) {
			return string(runes[i]), nil
		}
	}
	if s, ok := k.(string); ok {
		return r.method(v, s)
	}
	shown, err := r.text(k)
	return &undefined{fmt.Sprintf("element %s of a %s", shown, typeName(v))}, err
}

func (r *run) runes(s string) ([]rune, error) {
	return []rune(s), r.charge(1 + len(s)/costBytes)
}

// attr is v.name.
func (r *run) attr(v Value, name string) (Value, error) {
	m, err := r.method(v, name)
	if _, none := m.(*undefined); !none || err != nil {
		return m, err
	}
	if d, ok := v.(*Dict); ok {
		if found, ok := d.Get(name); ok {
			return found, nil
		}
	}
	return m, nil
}

// slice is v[from:to:step].
func (r *run) slice(v [4]Value) (Value, error) {
	var runes []rune
	n := 0
	list, isList := v[0].(*List)
	if isList && !list.lazy {
		n = len(list.Items)
	} else if s, ok := v[0].(string); ok {
		var err error
		if runes, err = r.runes(s); err != nil {
			return nil, err
		}
		n = len(runes)
	} else {
		return nil, fmt.Errorf("a %s has no slices", typeName(v[0]))
	}
	at, err := sliceIndices(n, v[1], v[2], v[3])
	if err != nil {
		return nil, err
	}
	if err := r.charge(len(at)); err != nil {
		return nil, err
	}
	if isList {
		out := &List{tuple: list.tuple}
		for _, i := range at {
			out.Items = append(out.Items, list.Items[i])
		}
		return out, nil
	}
	out := make([]rune, len(at))
	for i, j := range at {
		out[i] = runes[j]
	}
	return string(out), nil
}

// sliceIndices returns the indices of a slice of n elements.
func sliceIndices(n int, from, to, by Value) ([]int, error) {
	step := int64(1)
	for _, v := range []Value{from, to, by} {
		if _, ok := whole(v); !ok && v != nil {
			return nil, fmt.Errorf("a slice wants integers, not a %s", typeName(v))
		}
	}
	if by != nil {
		if step, _ = whole(by); step == 0 {
			return nil, errors.New("the step of a slice is 0")
		}
	}
	lo, hi := int64(0), int64(n)
	if step < 0 {
		lo, hi = int64(n)-1, -1
	}
	clamp := func(v Value, without int64) int64 {
		i, ok := whole(v)
		if !ok {
			return without
		}
		if i < 0 {
			i = max(i, -int64(n)-1) + int64(n)
		}
		if step < 0 {
			return min(max(i, -1), int64(n)-1)
		}
		return min(max(i, 0), int64(n))
	}
	lo, hi = clamp(from, lo), clamp(to, hi)
	step = min(max(step, -int64(n)-1), int64(n)+1)
	var at []int
	for i := lo; step > 0 && i < hi || step < 0 && i > hi; i += step {
		at = append(at, int(i))
	}
	return at, nil
}
