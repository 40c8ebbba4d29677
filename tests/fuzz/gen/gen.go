package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Kernel is a generated kernel and the launch it is made for.
type Kernel struct {
	Seed            uint64
	Name            string
	Source          string // declarations: types, helpers, the kernel
	Blocks, Threads [3]int
	Lens            []int // of each parameter after the Thread, 0 for a scalar
}

// Imports is what the file of generated kernels starts with, after its package
// clause; Support is what it needs besides the kernels.
const Imports = `import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

const _ = math.Pi + bits.UintSize

var _ dsl.Thread
`

// variable is a name in scope.
type variable struct {
	name string
	t    *typ
	mut  bool // may be assigned, or written through
	uni  bool // the same in all threads of a block, for good

	moves bool // a slice that is set again, which function literals may not capture
}

// function is what can be called: a helper, or a closure in scope.
type function struct {
	name    string
	params  []*typ
	results []*typ
	method  bool // the first parameter is the receiver
	pure    bool // changes nothing that was there before
	frozen  int  // for closures: how many variables were in scope
}

// loop is a loop around the current statement, a target of break and continue.
type loop struct {
	label string
	used  bool // the label
	uni   bool // has barriers: leave it under uniform control only
}

// gen holds the state of one program.
type gen struct {
	r      *rand.Rand
	id     string // suffix of package-level names
	names  int
	decls  strings.Builder
	out    *strings.Builder
	indent int

	structs []*typ
	helpers []function

	vars     []variable
	closures []function
	halves   []variable // slices of 16-bit floats, of the kernel
	frozen   int        // variables below are not to be changed
	captured int        // variables below are outside the function literal
	loops    []*loop
	results  []*typ // of the function; nil: no value
	kernel   bool   // in the body of the kernel itself, where t and acc are
	uni      bool
	budget   int // statements left
	weight   int // product of trip counts around
	depth    int
	heavy    int // calls of long math functions left
	threads  int // of a block
	narrow   bool
}

// Narrow is the first of the seeds whose kernels have neither 64-bit floats nor 64-bit
// atomics, for devices that lack them.
const Narrow = 1 << 41

// New returns the kernel of a seed.
func New(seed uint64) Kernel {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x6b696c6e)), id: fmt.Sprint(seed), weight: 1, narrow: seed >= Narrow}
	k := Kernel{Seed: seed, Name: "K" + g.id}
	g.out = &g.decls
	g.shape(&k)
	g.heavy = pick(g, []int{0, 0, 1, 3})
	for range g.r.IntN(3) {
		g.structType()
	}
	for range g.r.IntN(4) {
		g.helper()
	}
	g.kernelFunc(&k)
	k.Source = g.decls.String()
	return k
}

// draw picks a type.
func (g *gen) draw(from []*typ) *typ {
	t := pick(g, from)
	if t == f64 && g.narrow {
		return f32
	}
	return t
}

// widest is the unsigned integer of atomics with the most bits.
func (g *gen) widest() *typ {
	if g.narrow {
		return u32
	}
	return u64
}

// unfloated is the integer that no float has the bits of.
func (g *gen) unfloated() *typ {
	if g.narrow {
		return u64
	}
	return nil
}

func pick[T any](g *gen, from []T) T { return from[g.r.IntN(len(from))] }

// one reports true once in n times.
func (g *gen) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *gen) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *gen) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(g.out, format, args...)
	g.out.WriteByte('\n')
}

// shape draws the launch.
func (g *gen) shape(k *Kernel) {
	k.Blocks = pick(g, [][3]int{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}})
	k.Threads = pick(g, [][3]int{{32, 1, 1}, {64, 1, 1}, {96, 1, 1}, {8, 8, 1}, {16, 4, 1}, {4, 4, 4}, {64, 1, 1}})
	g.threads = k.Threads[0] * k.Threads[1] * k.Threads[2]
}

func (g *gen) structType() {
	t := &typ{kind: structure, name: "S" + g.id + string(rune('a'+len(g.structs)))}
	var b strings.Builder
	for i := range 1 + g.r.IntN(4) {
		ft := g.draw(scalars)
		switch g.r.IntN(6) {
		case 0:
			ft = &typ{kind: array, n: 1 + g.r.IntN(4), elem: ft}
		case 1:
			if len(g.structs) > 0 {
				ft = pick(g, g.structs)
			}
		}
		f := field{fmt.Sprintf("f%d", i), ft}
		t.fields = append(t.fields, f)
		fmt.Fprintf(&b, "\t%s %s\n", f.name, f.t)
	}
	g.line("type %s struct {\n%s}\n", t.name, b.String())
	g.structs = append(g.structs, t)
}

// helper writes a function, or a method, that the kernel and later helpers may
// call.
func (g *gen) helper() {
	f := function{name: "h" + g.id + string(rune('a'+len(g.helpers))), pure: true}
	var params []string
	g.vars, g.closures, g.frozen, g.captured = nil, nil, 0, 0
	for i := range 1 + g.r.IntN(3) {
		t := g.valueType()
		switch g.r.IntN(6) {
		case 0:
			t = &typ{kind: pointer, elem: t}
			f.pure = false
		case 1:
			t = &typ{kind: slice, elem: g.draw(numbers)}
		}
		name := fmt.Sprintf("p%d", i)
		params = append(params, name+" "+t.String())
		f.params = append(f.params, t)
		g.vars = append(g.vars, variable{name: name, t: t, mut: t.kind != slice && !g.one(4)})
	}
	for range 1 + g.r.IntN(3) {
		f.results = append(f.results, g.valueType())
	}
	named := g.one(3)
	results := "(" + joinTypes(f.results) + ")"
	if named {
		var list []string
		for i, t := range f.results {
			name := fmt.Sprintf("r%d", i)
			list = append(list, name+" "+t.String())
			g.vars = append(g.vars, variable{name: name, t: t, mut: true})
		}
		results = "(" + strings.Join(list, ", ") + ")"
	}
	switch first := f.params[0]; {
	case first.kind == structure, first.kind == pointer && first.elem.kind == structure:
		f.method = true
		g.line("func (%s) %s(%s) %s {", params[0], f.name, strings.Join(params[1:], ", "), results)
	default:
		g.line("func %s(%s) %s {", f.name, strings.Join(params, ", "), results)
	}
	g.body(f.results, 3+g.r.IntN(6))
	g.line("}\n")
	g.helpers = append(g.helpers, f)
}

// body writes the statements and the final return of a function without access
// to the Thread.
func (g *gen) body(results []*typ, budget int) {
	saved := *g
	g.results, g.kernel, g.uni, g.budget, g.loops = results, false, false, budget, nil
	g.indent++
	g.statements()
	g.line("return %s", g.values(results))
	g.indent--
	g.vars, g.closures = g.vars[:len(saved.vars)], g.closures[:len(saved.closures)]
	g.results, g.kernel, g.uni, g.budget, g.loops = saved.results, saved.kernel, saved.uni, saved.budget, saved.loops
}

// values draws an expression for each type.
func (g *gen) values(types []*typ) string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = g.value(t)
	}
	return strings.Join(list, ", ")
}

func joinTypes(types []*typ) string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = t.String()
	}
	return strings.Join(list, ", ")
}

// valueType draws the type of a variable, parameter or result.
func (g *gen) valueType() *typ {
	switch n := g.r.IntN(10); {
	case n == 0:
		return g.arrayType()
	case n == 1 && len(g.structs) > 0:
		return pick(g, g.structs)
	}
	return g.draw(scalars)
}

func (g *gen) arrayType() *typ {
	elem := g.draw(scalars)
	if g.one(8) && len(g.structs) > 0 {
		elem = pick(g, g.structs)
	} else if g.one(8) {
		elem = &typ{kind: array, n: 1 + g.r.IntN(4), elem: elem}
	}
	return &typ{kind: array, n: pick(g, []int{1, 2, 3, 4, 5, 8, 8, 16}), elem: elem}
}

// halfParams adds slices of 16-bit floats, one to read and one of which each
// thread has four elements.
func (g *gen) halfParams(k *Kernel, params *[]string, threads int) {
	g.halves = nil
	if !g.one(3) {
		return
	}
	for i, n := range []int{4 * threads, pick(g, []int{5, 64})} {
		t := &typ{name: pick(g, []string{"dsl.F16", "dsl.BF16"})}
		v := variable{name: g.name("h"), t: t, mut: i == 0}
		g.halves = append(g.halves, v)
		*params = append(*params, fmt.Sprintf("%s []%s", v.name, t))
		k.Lens = append(k.Lens, n)
	}
}

const words64 = 8 // that each thread writes to the first parameter

// kernelFunc writes the kernel: parameters, a part with uniform control flow, a
// part without, results.
func (g *gen) kernelFunc(k *Kernel) {
	threads := g.threads * k.Blocks[0] * k.Blocks[1]
	params := []string{"t dsl.Thread", "out []uint64", "add []int32", "most []" + g.widest().name, "flip []uint32"}
	k.Lens = []int{words64 * threads, 8, 8, 8}
	g.vars, g.closures, g.frozen, g.captured = nil, nil, 0, 0
	var own []string
	param := func(prefix string, t *typ, n int) {
		name := g.name(prefix)
		params = append(params, name+" "+t.String())
		k.Lens = append(k.Lens, n)
		switch {
		case prefix == "own":
			own = append(own, fmt.Sprintf("\tm%s := %s[id*4 : id*4+4]\n\t_ = m%s", name, name, name))
			g.vars = append(g.vars, variable{name: "m" + name, t: &typ{kind: slice, elem: t.elem, n: 4}, mut: true})
		case prefix == "in":
			g.vars = append(g.vars, variable{name: name, t: t})
		default:
			mut := g.one(4)
			g.vars = append(g.vars, variable{name: name, t: t, mut: mut, uni: !mut})
		}
	}
	for range 1 + g.r.IntN(2) {
		param("own", &typ{kind: slice, elem: g.draw(numbers)}, 4*threads)
	}
	for range 2 + g.r.IntN(3) {
		param("in", &typ{kind: slice, elem: g.draw(numbers)}, pick(g, []int{1, 7, 37, 64, 101}))
	}
	for range 1 + g.r.IntN(4) {
		param("s", g.draw(scalars), 0)
	}
	g.halfParams(k, &params, threads)
	g.line("//kiln:kernel\nfunc %s(%s) {", k.Name, strings.Join(params, ", "))
	g.line("\tid := (t.BlockY()*t.GridDimX()+t.BlockX())*t.BlockSize() + t.ThreadIndex()")
	g.line("%s", strings.Join(own, "\n"))
	g.line("\tacc := uint64(id)")
	g.line("\tresult := out[id*%d : id*%d+%d]", words64, words64, words64)
	g.vars = append(g.vars,
		variable{name: "id", t: intT},
		variable{name: "result", t: &typ{kind: slice, elem: u64, n: words64}, mut: true})
	g.indent, g.kernel, g.uni = 1, true, true
	g.budget = 4 + g.r.IntN(14)
	g.statements()
	g.uni = false
	g.results = []*typ{}
	g.budget = g.r.IntN(20)
	g.statements()
	g.fold(0)
	g.line("result[%d] ^= acc", g.r.IntN(words64))
	g.indent--
	g.line("}\n")
}
