package cfamily

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/compiler/target"
)

// Options change what the text holds besides the code.
type Options struct {
	// Lines adds a comment with the Go file and line wherever it changes.
	Lines bool
	// Disjoint says that no slice that the kernel writes overlaps another.
	Disjoint bool
	// Names, if not nil, names the Go variable for the value computed at a position of the
	// source, "" for none.
	Names func(ir.Pos) string
}

// Emit returns the text of the kernel of m in language l for t. The module must
// satisfy [ir.Verify] and hold no calls, which the inline pass sees to.
func (l *Language) Emit(m *ir.Module, t target.Target, o Options) (string, error) {
	return l.EmitAll([]*ir.Module{m}, t, o)
}

// EmitAll is [Language.Emit] for several modules, whose kernels have different
// names: one text, in which they share their types and helpers.
func (l *Language) EmitAll(ms []*ir.Module, t target.Target, o Options) (string, error) {
	types := &types{lang: l, names: map[*ir.Type]string{}}
	var kernels strings.Builder
	for _, m := range ms {
		f := m.Kernel()
		if f == nil {
			return "", fmt.Errorf("%s: module %q has no kernel", l.Kind, m.Name)
		}
		if t.Kind != l.Kind {
			return "", fmt.Errorf("%s: kernel %s: cannot compile for target %s", l.Kind, f.Name, t)
		}
		e := &emitter{lang: l, m: m, f: f, t: t, opt: o, types: types, body: new(strings.Builder)}
		text, err := e.run()
		if err != nil {
			return "", fmt.Errorf("%s: kernel %s: %w", l.Kind, f.Name, err)
		}
		kernels.WriteString("\n" + text)
	}
	decls := types.decls.String()
	text := l.Head(t) + "\n" + l.prelude(decls+kernels.String())
	if decls != "" {
		text += "\n" + decls
	}
	return text + kernels.String(), nil
}

// EntryName returns the name under which the kernel called name is found in the
// text: the name itself, with each character that C does not allow replaced by an
// underscore and its code. A module has one kernel, so names need not differ.
func EntryName(name string) string {
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0 || c == '_' {
			out = append(out, c)
		} else {
			out = fmt.Appendf(out, "_%02x", c)
		}
	}
	return string(out)
}

type emitter struct {
	lang  *Language
	m     *ir.Module
	f     *ir.Func
	t     target.Target
	opt   Options
	types *types

	uses   []int    // by value ID
	parts  []bool   // parts of an expression that another value of the same position is
	called []string // names of values, as far as they were asked for
	taken  map[string]bool
	inline []bool            // written where it is used
	top    []bool            // declared at the head of the function
	firsts map[*ir.Edge]bool // that declare the parameters that they set
	params []string
	end    *ending // the function that the kernel's end is, or nil
	shared []bool  // which shared objects are used
	places []int   // offsets of shared objects in the memory that launches ask for: see ir.Module.SharedParts

	around []*construct // what a jump leaves, innermost last
	flags  []string     // variables of jumps through several constructs
	head   strings.Builder
	body   *strings.Builder
	depth  int
	pos    int
	line0  ir.Pos
}

func (e *emitter) run() (string, error) {
	tree, end, err := structure(e.f)
	if err != nil {
		return "", err
	}
	order := analysis.LoopOrder(e.f)
	if err := e.supported(order); err != nil {
		return "", err
	}
	e.plan(order)
	e.taken = map[string]bool{}
	e.nameTables()
	e.called = make([]string, e.f.NumValues())
	e.shared = make([]bool, len(e.m.Shared))
	e.params = make([]string, e.f.NumValues())
	params := e.signature()
	e.depth = 1
	before := ""
	if end != nil {
		end.name = EntryName(e.f.Name) + "_end"
		if before, err = e.function(end, params); err != nil {
			return "", err
		}
		e.end = end
		order = slices.DeleteFunc(order, func(b *ir.Block) bool { return slices.Contains(end.order, b) })
	}
	e.declare(tree, order, nil)
	if err := e.list(tree, nil); err != nil {
		return "", err
	}
	return e.tables() + before + e.assemble(params), nil
}

// supported refuses what the language lacks, with the position in the source.
func (e *emitter) supported(order []*ir.Block) error {
	check := func(v *ir.Value) error {
		why := e.lang.Lacks(v.Op)
		if e.lang.Refuse != nil && why == "" {
			why = e.lang.Refuse(e.t, v)
		}
		if v.Op == ir.OpMMA && why == "" && e.unit(v) == nil {
			why = NoUnit
		}
		for _, t := range append([]*ir.Type{v.Type}, argTypes(v)...) {
			if w := e.missing(t); w != "" {
				return &target.Unsupported{What: t.String(), Target: e.t, Why: w}
			}
		}
		if why != "" {
			return &target.Unsupported{What: "operation " + v.Op.String(), Target: e.t, Why: why}
		}
		return nil
	}
	for _, b := range order {
		for _, v := range b.Instrs {
			if err := check(v); err != nil {
				return e.m.At(v.Pos, err)
			}
		}
	}
	for _, p := range e.f.Params { // which have no position: those that are used were found above
		if err := check(p); err != nil {
			return fmt.Errorf("parameter %s, which nothing uses: %w", e.argOf(p), err)
		}
	}
	_, size := e.m.SharedLayout()
	e.places = e.m.SharedParts(e.lang.Whole != "" && e.t.Dynamic(size))
	return e.t.CheckShared(size)
}

// unit is the matrix instruction of a product, nil if the target has none.
func (e *emitter) unit(v *ir.Value) *matrix.Unit {
	kind, _ := v.MatrixKind()
	return matrix.For(e.t, kind)
}

// argOf names the Go parameter that p belongs to.
func (e *emitter) argOf(p *ir.Value) string {
	i := 0
	for _, a := range e.f.Args {
		if i += a.NumParams(); int(p.Imm) < i {
			return a.Name + " " + a.Go
		}
	}
	return fmt.Sprint(p.Imm)
}

func argTypes(v *ir.Value) []*ir.Type {
	out := make([]*ir.Type, len(v.Args))
	for i, a := range v.Args {
		out[i] = a.Type
	}
	return out
}

// missing says why there is no type t, "" if there is.
func (e *emitter) missing(t *ir.Type) string {
	switch t.Kind {
	case ir.KPtr, ir.KArray:
		return e.missing(t.Elem)
	case ir.KStruct:
		for _, f := range t.Elems {
			if why := e.missing(f); why != "" {
				return why
			}
		}
		return ""
	}
	return e.lang.MissingTypes[t.Kind]
}

// signature names the parameters.
func (e *emitter) signature() []Param {
	written := ir.WrittenParams(e.f)
	var out []Param
	unique := func(name string) string {
		name = e.goName(strings.ReplaceAll(name, ".", "_")) // a field of a parameter
		for e.taken[name] {
			name += "_"
		}
		e.taken[name] = true
		return name
	}
	next := 0
	for _, a := range e.f.Args {
		first, n := next, a.NumParams()
		next += n
		switch a.Kind {
		case ir.ArgStruct:
			if a.Elem.Size() == 0 {
				continue // in C++ an empty struct takes a byte
			}
			name := unique(a.Name)
			out = append(out, Param{Type: e.types.memory(a.Elem), Name: name})
			e.leaves(a.Elem, name, e.f.Params[first:next])
		case ir.ArgSlice:
			name := unique(a.Name)
			p := e.f.Params[first]
			out = append(out, Param{Type: e.types.value(p.Type, e.opt.Disjoint && written[first]), Name: name},
				Param{Type: "i64", Name: unique(a.Name + "_len")})
			e.params[p.ID], e.params[e.f.Params[first+1].ID] = name, out[len(out)-1].Name
		case ir.ArgScalar:
			p := e.f.Params[first]
			name := unique(a.Name)
			e.params[p.ID] = name
			param := Param{Type: e.types.memory(p.Type), Name: name, Bool: p.Type.Kind == ir.KBool}
			out = append(out, param)
		}
	}
	for ; next < len(e.f.Params); next++ { // functions that are not from Go have no Args
		p := e.f.Params[next]
		e.params[p.ID] = unique(fmt.Sprintf("p%d", next))
		out = append(out, Param{Type: e.types.memory(p.Type), Name: e.params[p.ID], Bool: p.Type.Kind == ir.KBool})
		if p.Type.IsPtr() {
			out[len(out)-1].Type = e.types.value(p.Type, e.opt.Disjoint && written[next])
		}
	}
	// A block is a whole number of words: see ir.BlockAlign.
	if _, size := ir.Layout(e.f.Args); size%ir.BlockAlign != 0 && !e.lang.Apart {
		pad := ir.ArrayOf(ir.BlockAlign-size%ir.BlockAlign, ir.U8)
		out = append(out, Param{Type: e.types.memory(pad), Name: unique("padding")})
	}
	return out
}

// leaves names the parameters that are the scalars of a struct.
func (e *emitter) leaves(t *ir.Type, path string, params []*ir.Value) []*ir.Value {
	switch t.Kind {
	case ir.KStruct:
		for i, f := range t.Elems {
			params = e.leaves(f, fmt.Sprintf("%s.f%d", path, i), params)
		}
		return params
	case ir.KArray:
		for i := range t.Len {
			params = e.leaves(t.Elem, fmt.Sprintf("%s.v[%d]", path, i), params)
		}
		return params
	}
	if t.Kind == ir.KBool {
		path = "(" + path + " != 0)"
	}
	e.params[params[0].ID] = path
	return params[1:]
}

// goName makes a Go name one that C and our own names leave free.
func (e *emitter) goName(name string) string {
	name = EntryName(name)
	if reserved[name] || e.lang.reserves(name) || identifier.FindString(name) != name || len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		return name + "_"
	}
	return name
}

// name returns the variable of v: what it is called in Go, where that is known, else a
// letter and a number.
func (e *emitter) name(v *ir.Value) string {
	if n := e.params[v.ID]; n != "" {
		return n
	}
	if e.called[v.ID] == "" {
		letter := "v"
		if v.Op == ir.OpLocal {
			letter = "local"
		}
		e.called[v.ID] = e.goVariable(v)
		if e.called[v.ID] == "" {
			e.called[v.ID] = fmt.Sprint(letter, v.ID)
		}
	}
	return e.called[v.ID]
}

// goVariable returns a name for v after that of a Go variable, "" if none is known.
func (e *emitter) goVariable(v *ir.Value) string {
	address := v.Type.IsPtr() && v.Op != ir.OpLocal && v.Op != ir.OpShared && v.Op != ir.OpTable && v.Op != ir.OpBlockParam
	if e.opt.Names == nil || e.parts[v.ID] || address {
		return ""
	}
	base := e.opt.Names(e.m.PosOf(v.Pos))
	if base == "" {
		return ""
	}
	base = e.goName(base)
	name := base
	for n := 2; e.taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	e.taken[name] = true
	return name
}

func (e *emitter) sharedName(i int) string {
	e.shared[i] = true
	for _, b := range e.f.Blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpShared && int(v.Imm) == i {
				return e.sharedVariable(v)
			}
		}
	}
	return fmt.Sprintf("shared%d", i)
}

// sharedVariable returns the name of the object that v is the address of.
func (e *emitter) sharedVariable(v *ir.Value) string {
	if e.called[v.ID] == "" {
		e.called[v.ID] = e.goVariable(v)
		if e.called[v.ID] == "" {
			e.called[v.ID] = fmt.Sprintf("shared%d", v.Imm)
		}
	}
	return e.called[v.ID]
}

// lastReturn matches a return at the end of a kernel, and the comment that it has.
var lastReturn = regexp.MustCompile(`(?m)(^\t// \S+:\d+\n)?^\treturn;\n\z`)

// assemble puts the text of the kernel together.
func (e *emitter) assemble(params []Param) string {
	var kernel strings.Builder
	for _, in := range e.lang.Inputs {
		if names(e.head.String(), in.Name) || names(e.body.String(), in.Name) {
			params = append(params, in)
		}
	}
	for i, p := range params { // the byte of a bool that nobody asks for stays a byte
		params[i].Bool = p.Bool && (names(e.head.String(), p.Name) || names(e.body.String(), p.Name))
	}
	if o := e.m.Dynamic(); o != nil && e.lang.Dynamic != nil {
		p := *e.lang.Dynamic
		p.Type, p.Name = e.elements(o), e.sharedName(len(e.m.Shared)-1)
		params = append(params, p)
	}
	head, first := e.lang.Entry(e.t, EntryName(e.f.Name), params, e.m.Launch)
	kernel.WriteString(head)
	kernel.WriteString(" {\n")
	e.declareShared(&kernel)
	for _, s := range first {
		fmt.Fprintf(&kernel, "\t%s\n", s)
	}
	for _, f := range e.flags {
		fmt.Fprintf(&kernel, "\tbool %s = false;\n", f)
	}
	kernel.WriteString(e.head.String())
	kernel.WriteString(lastReturn.ReplaceAllString(e.body.String(), ""))
	kernel.WriteString("}\n")
	return kernel.String()
}

// declareShared declares the shared objects that the kernel uses and that are no parameters.
func (e *emitter) declareShared(b *strings.Builder) {
	if e.places != nil && e.lang.Dynamic == nil {
		fmt.Fprintf(b, "\t%s\n", e.lang.Whole)
	}
	for i, o := range e.m.Shared {
		if !e.shared[i] || o.Dynamic && e.lang.Dynamic != nil {
			continue
		}
		t, name := e.types.memory(o.Type), e.sharedName(i)
		text := e.lang.Shared(t, name)
		switch {
		case o.Dynamic:
			text = fmt.Sprintf("%[1]s %[2]s = reinterpret_cast<%[1]s>(%[3]s + %[4]d);", e.elements(o), name, WholeName, e.places[i])
		case e.places != nil && e.places[i] >= 0:
			text = fmt.Sprintf("%[1]s& %[2]s = *reinterpret_cast<%[1]s*>(%[3]s + %[4]d);", t, name, WholeName, e.places[i])
		}
		fmt.Fprintf(b, "\t%s\n", text)
	}
}

// elements is the type of a pointer to the elements of an array whose length a launch decides.
func (e *emitter) elements(o *ir.Object) string {
	return e.lang.Pointer(e.types.memory(o.Type.Elem), ir.Shared, false)
}

// names reports whether text has a word.
func names(text, word string) bool {
	return slices.Contains(identifier.FindAllString(text, -1), word)
}

// reserves reports whether name has a meaning of its own in the language.
func (l *Language) reserves(name string) bool {
	return slices.Contains(l.Words, name) || slices.ContainsFunc(l.Inputs, func(p Param) bool { return p.Name == name }) ||
		slices.ContainsFunc(l.Helpers, func(h Helper) bool { return h.Name == name })
}

// reserved are names that C, its relatives or our helpers use.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constant constexpr
		const_cast continue decltype default delete device do double dynamic_cast else enum explicit export extern false float for friend fragment goto half if inline int
		kernel local global private long mutable namespace new noexcept not not_eq nullptr operator or or_eq protected public register reinterpret_cast restrict
		return short signed sizeof static static_assert static_cast struct switch template this thread thread_local threadgroup throw true try typedef
		typeid typename union unsigned using vertex virtual void volatile wchar_t while xor xor_eq main printf uint uchar ushort ulong size_t
		i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 min max abs FN NULL metal end`) {
		m[w] = true
	}
	for _, h := range Helpers {
		m[h.Name] = true
	}
	return m
}()
