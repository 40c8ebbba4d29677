package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// lowerer turns the SSA form of a kernel into an IR module.
type lowerer struct {
	k         *Kernel
	m         *ir.Module
	instances map[string]*funcInstance
	depth     map[*ssa.Function]int
	names     map[string]int
	callees   map[*ssa.Function]*Library
	pos       map[token.Pos]int
	shared    map[sharedKey]int
	tables    map[*ir.Table]int // -> number in the module
	lines     map[sharedLine]token.Pos
	widths    map[types.Type]int // see wide
	full      bool               // the kernel is too large
}

// funcInstance is a function specialised for the shapes of its arguments.
type funcInstance struct {
	out    *ir.Func
	result *val // shape of the result, nil if the function never returns
	busy   bool
}

func newLowerer(k *Kernel, name string) *lowerer {
	return &lowerer{
		k:         k,
		m:         &ir.Module{Name: name},
		instances: map[string]*funcInstance{},
		depth:     map[*ssa.Function]int{},
		names:     map[string]int{},
		callees:   map[*ssa.Function]*Library{},
		pos:       map[token.Pos]int{},
		shared:    map[sharedKey]int{},
		tables:    map[*ir.Table]int{},
		lines:     map[sharedLine]token.Pos{},
		widths:    map[types.Type]int{},
	}
}

// newFunc adds an IR function under a name not yet used.
func (l *lowerer) newFunc(fn *ssa.Function, name string) *funcLower {
	n := l.names[name]
	l.names[name]++
	if n > 0 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	return &funcLower{l: l, fn: fn, out: l.m.NewFunc(name), env: make(map[ssa.Value]val, numValues(fn)), oneCell: map[*ssa.Phi]bool{}, pending: map[*val]bool{}}
}

// numValues returns about how many values fn has.
func numValues(fn *ssa.Function) int {
	n := len(fn.Params) + len(fn.FreeVars)
	for _, b := range fn.Blocks {
		n += len(b.Instrs) - 1
	}
	return n
}

// position returns the index of pos in the module's table. Code of packages dsl
// and fast has no positions of its own: it gets those of the kernel's calls when it is
// inlined, which is where a mistake can be mended.
func (l *lowerer) position(pos token.Pos) int {
	if !pos.IsValid() {
		return 0
	}
	if i, ok := l.pos[pos]; ok {
		return i
	}
	p, i := l.k.Fset.Position(pos), 0
	if !strings.HasPrefix(p.Filename, input.DSL+"/") {
		i = l.m.AddPos(ir.Pos{File: p.Filename, Line: p.Line, Col: p.Column})
	}
	l.pos[pos] = i
	return i
}

// sharedKey identifies a shared object: the same call with the same type is
// the same object, wherever the function around it is inlined.
type sharedKey struct {
	pos token.Pos
	t   *ir.Type
}

type sharedLine struct {
	file string
	line int
	t    *ir.Type
}

// funcLower lowers one function instance.
type funcLower struct {
	l      *lowerer
	fn     *ssa.Function
	out    *ir.Func
	env    map[ssa.Value]val
	blocks []*ir.Block // by index of the SSA block
	blk    *ir.Block   // being filled
	at     token.Pos   // of the current instruction, or the last that had one
	result *val
	consts map[constKey]*ir.Value // of the current block

	oneCell  map[*ssa.Phi]bool // see loopVar
	prologue func()            // makes the parameters of a kernel

	printed map[*ssa.Call][]ssa.Value // arguments of dsl.Printf
	skipped map[ssa.Instruction]bool  // what makes a slice of them

	pending map[*val]bool // parts of variables that hold a function and wait for it

	contract bool               // see contraction
	rounded  map[token.Pos]bool // products that conversions round
}

type constKey struct {
	t    *ir.Type
	bits uint64
}

func (f *funcLower) report(code diag.Code, format string, args ...any) {
	f.l.k.Report(f.start(f.at), code, "", format, args...)
}

// start returns the first position of the call whose parenthesis is at pos:
// that is where go/ssa puts a call, and not where people look for it.
func (f *funcLower) start(pos token.Pos) token.Pos {
	at := pos
	for _, t := range f.l.k.Trees {
		for _, d := range t.Decls {
			if d.Pos() > pos || pos >= d.End() {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && c.Lparen == pos {
					at = c.Pos()
				}
				return at == pos
			})
		}
	}
	return at
}

func (f *funcLower) enter(b *ssa.BasicBlock) {
	f.blk = f.blocks[b.Index]
	f.consts = make(map[constKey]*ir.Value, 8)
}

func (f *funcLower) setPos(in ssa.Instruction) {
	if p := in.Pos(); p.IsValid() {
		f.at = p
		f.l.k.At = p
	}
}
