package compiler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
)

// Program is a kernel in IR, checked, not yet optimised.
type Program struct {
	Kernel    string // package path, function and type arguments
	Hash      string // of Text, in hexadecimal
	Text      string // IR without positions
	Positions []ir.Pos

	// The module that Text was written of, for the first to ask for it: passes
	// change modules.
	module atomic.Pointer[ir.Module]
}

// parsed returns the module that p.Text stands for.
func (p *Program) parsed() (*ir.Module, error) {
	if m := p.module.Swap(nil); m != nil {
		m.Renumber()
		return m, nil
	}
	return ir.Parse(p.Text)
}

// Front compiles a kernel to IR.
func Front(req front.Request, load front.Loader) (p *Program, err error) {
	defer recoverTo(&err, req.Pkg+"."+req.Func)
	m, err := front.Build(req, load)
	if err != nil {
		return nil, err
	}
	p = &Program{Kernel: m.Name, Text: m.Text(), Positions: m.Pos}
	sum := sha256.Sum256([]byte(p.Text))
	p.Hash = hex.EncodeToString(sum[:])
	p.module.Store(m)
	return p, nil
}

// Emit compiles the program for a target.
func (p *Program) Emit(t target.Target, opt Options) (art *Artifact, err error) {
	defer recoverTo(&err, p.Kernel)
	back, err := backendOf(t.Kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Kernel, err)
	}
	if interpreted(t, opt, false) {
		return p.forInterpreter(t, opt)
	}
	m, err := p.Optimize(t, opt)
	if err != nil {
		return nil, err
	}
	if err := gridBarriers(m, t); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Kernel, err)
	}
	art = &Artifact{Meta: Meta{Kernel: p.Kernel, Target: t.String(), Format: code.FormatOf(t)}}
	// Code on the CPU checks assertions itself and stops at the first that fails.
	grid := !t.OnCPU() && pass.LowerGrid(m, t.OwnFences())
	describe(m, &art.Meta, pass.LowerLog(m, !t.OnCPU()), grid)
	if interpreted(t, opt, art.Log != nil) {
		return p.forInterpreter(t, opt)
	}
	if over := limits(m, &art.Meta, t); len(over) > 0 {
		return nil, fmt.Errorf("%s: %w", p.Kernel, over[0].err)
	}
	if _, shared := m.SharedLayout(); t.Dynamic(shared) {
		art.Dynamic = shared
	}
	text, err := back.emit(m, t, opt)
	if err != nil && t.Kind == target.Native {
		return p.instead(t, opt, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Kernel, err)
	}
	art.Entry, art.Code, art.Overlaps = back.entry(art.Entry), []byte(text), t.Overlaps()
	return art, nil
}

// Optimize runs the passes for a target and checks that barriers and warp
// operations are reached together by the threads they join.
func (p *Program) Optimize(t target.Target, opt Options) (*ir.Module, error) {
	m, err := p.parsed()
	if err != nil {
		return nil, fmt.Errorf("%s: reading IR: %w", p.Kernel, err)
	}
	m.Pos, m.Checked = p.Positions, opt.Checked
	release := !t.OnCPU() && !opt.Checked
	passes := pass.Options{ // what compiles C++ or LLVM's IR for a GPU divides quickly itself, and CPUs have an instruction for it
		Disable: opt.Disable, After: opt.After, Release: release, Checked: opt.Checked, WarpSize: t.WarpSize,
		Narrow: !t.OnCPU(), SlowDiv: t.Kind == target.PTX, Async: t.CopiesAsync() && !opt.Checked, WatchCopies: t.OnCPU() && opt.Checked,
		Matrix:   func(k ir.MatrixKind) *matrix.Unit { return matrix.For(t, k) },
		Packed:   func(k ir.MatrixKind) bool { return matrix.Packed(t, k) },
		CASLoops: t.CASLoops(), Small: !t.OnCPU() && opt.Assume&Small != 0, Converge: true,
	}
	if err := pass.Run(m, passes); err != nil {
		if list := lengths(m, pass.LengthErrors(err)); len(list) > 0 {
			return nil, list
		}
		if parted := (*pass.ConvergenceError)(nil); errors.As(err, &parted) {
			return nil, convergence(m, parted.Found)
		}
		if e, ok := errors.AsType[*pass.MistakeError](err); ok {
			return nil, mistakes(m, e.Found)
		}
		if e, ok := errors.AsType[*pass.GrowthError](err); ok {
			return nil, diag.List{diag.New(diagPosition(m.PosOf(e.Pos)), diag.TooLarge, e.Msg, "")}
		}
		return nil, fmt.Errorf("%s: %w", p.Kernel, err)
	}
	return m, nil
}

// Trim gives back the memory that is kept to compile further kernels faster: packages that are
// parsed, and those that are checked and built.
func Trim() { front.Trim() }

// lengths turns arrays without a usable length into diagnostics.
func lengths(m *ir.Module, errs []*pass.LengthError) (list diag.List) {
	for _, e := range errs {
		d := diag.New(diagPosition(m.PosOf(e.Pos)), diag.SliceLength, e.Msg, "")
		d.Fix = cmp.Or(e.Fix, d.Fix)
		list.Add(d)
	}
	return list.Sorted()
}

// mistakes turns what the pass diagnose found into diagnostics, one for each position: unrolling
// makes many of one.
func mistakes(m *ir.Module, found []pass.Mistake) (list diag.List) {
	seen := map[ir.Pos]bool{}
	for _, f := range found {
		at := m.PosOf(f.Pos)
		if seen[at] {
			continue
		}
		seen[at] = true
		switch f.Kind {
		case pass.OutOfRange:
			list.Add(diag.New(diagPosition(at), diag.AlwaysOutOfRange, f.Msg, ""))
		case pass.NoExit:
			list.Add(diag.New(diagPosition(at), diag.EndlessLoop, "nothing leaves the loop around this", ""))
		case pass.NotUnrolled:
			list.Add(diag.New(diagPosition(at), diag.Unroll, f.Msg, ""))
		case pass.NoChange:
			list.Add(diag.New(diagPosition(at), diag.EndlessLoop, "the condition of the loop never changes in it", ""))
		}
	}
	return list.Sorted()
}

func diagPosition(p ir.Pos) diag.Position {
	return diag.Position{File: p.File, Line: p.Line, Col: p.Col}
}

// InternalError is a fault of the compiler, not of the kernel.
type InternalError struct {
	Kernel string
	Cause  any
	Stack  []byte
}

func (e *InternalError) Error() string {
	return fmt.Sprintf("internal compiler error in %s: %v (please report it with the kernel's source)", e.Kernel, e.Cause)
}

// Format prints the stack too with %+v.
func (e *InternalError) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, e.Error())
	if verb == 'v' && f.Flag('+') {
		fmt.Fprintf(f, "\n%s", e.Stack)
	}
}

func recoverTo(err *error, kernel string) {
	if cause := recover(); cause != nil {
		*err = &InternalError{kernel, cause, debug.Stack()}
	}
}
