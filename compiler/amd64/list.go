package amd64

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// List returns the code of a kernel for people to read. Like Emit, it changes the module.
func (o Options) List(m *ir.Module, t target.Target) (string, error) {
	_, list, err := o.build(m, t)
	if err != nil {
		return "", err
	}
	l := lister{m: m}
	fmt.Fprintf(&l.text, `# %s for %s: the code runs a range of blocks, a vector of %d threads at a time.
# r15: context of the launch, r14: frame of the vector (spilled registers, local arrays),
# %s, pool: constants, which are at the end.
`, m.Kernel().Name, t, t.WarpSize, map[bool]string{true: "k1 to k7: sets of threads", false: "vectors of 0 and -1: sets of threads"}[t.WarpSize == 16])
	for i := range list {
		l.title(list[i].way)
		l.code(list[i].f)
	}
	l.constants(list[0].consts.bytes)
	return l.text.String(), nil
}

// lister writes code for people.
type lister struct {
	m    *ir.Module
	text strings.Builder
	line string // of the source, the last that was written
}

// title writes which blocks and processors code is for.
func (l *lister) title(x way) {
	what := "for blocks whose rows of threads along x are cut into vectors"
	if x.general {
		what = "for blocks whose rows of threads along x are no whole vectors: threads by table"
	}
	switch {
	case x.tiles:
		what += "; on processors with tile registers"
	case x.pairs:
		what += "; on processors with AVX512_BF16"
	case x.vnni:
		what += "; on processors with VNNI"
	}
	fmt.Fprintf(&l.text, "\n# %s\n", what)
}

// code writes instructions behind the lines of source that they are for.
func (l *lister) code(f *regalloc.Func) {
	used := map[int64]bool{}
	for _, b := range f.Blocks {
		for i := range b.Insts {
			for _, a := range b.Insts[i].Args {
				if a.Kind == asm.LabelArg {
					used[a.Imm] = true
				}
			}
		}
	}
	inside := false // of what the source says
	for n, b := range f.Blocks {
		if used[int64(n)] {
			fmt.Fprintf(&l.text, ".%d:\n", n)
			l.line = "" // control comes from elsewhere, too
		}
		if has := l.positioned(b); has != inside && len(b.Insts) > 0 {
			if inside = has; !has {
				l.text.WriteString("\t\t\t\t# around the kernel: the next vector, the next block, the end\n")
				l.line = ""
			}
		}
		for i := range b.Insts {
			l.instruction(&b.Insts[i])
		}
	}
}

// positioned reports whether a part of the code is for lines of source.
func (l *lister) positioned(b *regalloc.Block) bool {
	for i := range b.Insts {
		if l.m.PosOf(int(b.Insts[i].Pos)).Line > 0 {
			return true
		}
	}
	return false
}

func (l *lister) instruction(in *asm.Inst) {
	if p := l.m.PosOf(int(in.Pos)); p.Line > 0 {
		if line := fmt.Sprintf("%s:%d", p.File, p.Line); line != l.line {
			fmt.Fprintf(&l.text, "\t\t\t\t# %s\n", line)
			l.line = line
		}
	}
	fmt.Fprintf(&l.text, "\t%s", in)
	for _, a := range in.Args {
		if a.Kind == asm.MemArg && a.Reg == ctx && a.Index == 0 {
			if name := fieldName(a.Disp); name != "" {
				fmt.Fprintf(&l.text, "\t# %s", name)
			}
		}
	}
	l.text.WriteByte('\n')
}

// fields are the names of what is in the context; numbers of three words are x, y, z.
var fields = []struct {
	at   int32
	n    int32
	name string
}{
	{image.CtxArgs, 1, "arguments"}, {image.CtxShared, 1, "shared memory"}, {image.CtxFrames, 1, "frames"},
	{image.CtxBlock, 3, "block"}, {image.CtxBlocks, 1, "blocks to run"}, {image.CtxGridDim, 3, "blocks of the grid"},
	{image.CtxBlockDim, 3, "threads of the block"}, {image.CtxVectors, 1, "vectors of the block"},
	{image.CtxThreads, 1, "table of threads"}, {image.CtxFault, 1, "failed check"}, {image.CtxFaultLane, 1, "lane of the failed check"},
	{image.CtxFaultValues, 2, "values of the failed check"}, {image.CtxFaultBlock, 3, "block of the failed check"}, {image.CtxFaultThread, 3, "thread of the failed check"},
	{ctxResume, 1, "where the phase began"}, {ctxThread, 3, "first thread of the vector"}, {ctxVec, 1, "number of the vector"},
}

// fieldName says what is at an offset of the context, "" for memory that values only
// pass through.
func fieldName(at int32) string {
	for _, f := range fields {
		if i := (at - f.at) / 8; at >= f.at && i < f.n {
			if f.n == 3 {
				return f.name + " " + "xyz"[i:i+1]
			}
			return f.name
		}
	}
	return ""
}

// constants writes the pool, in words of 32 bits.
func (l *lister) constants(pool []byte) {
	if len(pool) == 0 {
		return
	}
	const row = 32
	l.text.WriteString("\n# constants\n")
	for at := 0; at < len(pool); at += row {
		fmt.Fprintf(&l.text, "pool+%d:", at)
		for i := at; i+4 <= min(at+row, len(pool)); i += 4 {
			fmt.Fprintf(&l.text, " %08x", binary.LittleEndian.Uint32(pool[i:]))
		}
		l.text.WriteByte('\n')
	}
}
