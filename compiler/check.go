package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Check reports every mistake in the kernels of a package; see [front.Check]. Of kernels without
// any it reports, too, what keeps them from being compiled for the targets: limits of these, what
// they lack, and what the kernel takes for granted of warps. The second result is the number of
// kernels.
func Check(p *front.Package, load front.Loader, targets ...target.Target) (diag.List, int) {
	list := front.Check(p, load, func(m *ir.Module) diag.List {
		text := m.Text()
		program := func() *Program { return &Program{Kernel: m.Name, Text: text, Positions: m.Pos} }
		_, err := program().Optimize(target.CPU, Options{})
		if err != nil {
			return asDiagnostics(err)
		}
		found := make([]diag.List, len(targets))
		var wg sync.WaitGroup
		for i, t := range targets {
			wg.Go(func() { found[i] = program().checkFor(t) })
		}
		wg.Wait()
		return slices.Concat(found...)
	})
	return list, len(front.Kernels(p))
}

// asDiagnostics is an error of a compilation as diagnostics. Those without a position are given the
// kernel's.
func asDiagnostics(err error) diag.List {
	var diags diag.List
	if errors.As(err, &diags) {
		return diags
	}
	return diag.List{diag.New(diag.Position{}, diag.Internal, err.Error(), "")}
}

// checkFor reports what keeps a kernel from being compiled for a target.
func (p *Program) checkFor(t target.Target) (list diag.List) {
	m, err := p.Optimize(t, Options{})
	if err != nil {
		return asDiagnostics(err)
	}
	var meta Meta
	describe(m, &meta, nil, false)
	note := "of the instance " + p.Kernel
	for _, l := range limits(m, &meta, t) {
		list.Add(overLimit(m, l, note))
	}
	list = append(list, warpWidth(m, &meta, t, note)...)
	if len(list) > 0 {
		return list
	}
	_, err = p.Emit(t, Options{Strict: true})
	if err == nil {
		return nil
	}
	lack, ok := errors.AsType[*target.Unsupported](err)
	if !ok {
		return asDiagnostics(err)
	}
	var at diag.Position
	if e, ok := errors.AsType[*ir.PosError](err); ok {
		at = diagPosition(e.Pos)
	}
	d := diag.New(at, diag.TargetLacks, fmt.Sprintf("%s is not available on %s", lack.What, lack.Target), note)
	d.Fix = cmp.Or(lack.Why, d.Fix)
	return diag.List{d}
}

// overLimit is a limit that a kernel exceeds as a diagnostic.
func overLimit(m *ir.Module, l excess, note string) diag.Diagnostic {
	over, _ := errors.AsType[*target.Excess](l.err)
	slices.SortStableFunc(l.uses, func(a, b use) int { return b.bytes - a.bytes })
	const most = 8
	var parts []string
	for _, u := range l.uses[:min(len(l.uses), most)] {
		parts = append(parts, fmt.Sprintf("%d bytes at %s", u.bytes, diagPosition(m.PosOf(u.pos))))
	}
	if n := len(l.uses) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	if len(parts) > 0 {
		note += ": " + strings.Join(parts, ", ")
	}
	d := diag.New(diagPosition(m.PosOf(l.at)), diag.TargetLimit, "the kernel "+over.What, note)
	d.Fix = over.Fix
	return d
}

// warpWidth reports where a kernel counts on warps of more threads than the target has.
func warpWidth(m *ir.Module, meta *Meta, t target.Target, note string) (list diag.List) {
	report := func(pos int, format string, args ...any) {
		list.Add(diag.New(diagPosition(m.PosOf(pos)), diag.WarpWidth, fmt.Sprintf(format, args...), note))
	}
	if n := meta.Threads; meta.Warp && n%t.WarpSize != 0 {
		report(m.Launch.Pos, "blocks of %d threads are not whole warps of %d on %s, and the kernel has warp operations", n, t.WarpSize, t)
	}
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			switch v.Op {
			case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
				if n := v.Args[1]; n.IsConst() && n.Imm >= uint64(t.WarpSize) {
					report(v.Pos, "shuffle over %d lanes, %s has warps of %d", n.Imm, t, t.WarpSize)
				}
			}
		}
	}
	return list
}
