package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// logArgs are the arguments that [LowerLog] adds to the kernel.
var logArgs = [LogArgs]ir.Arg{
	{Name: "log", Kind: ir.ArgSlice, Elem: ir.U64, Go: "[]uint64"},
	{Name: "launch", Kind: ir.ArgScalar, Elem: ir.U64, Go: "uint64"},
}

// LogArgs is how many arguments [LowerLog] adds to a kernel that writes to the log.
const LogArgs = 2

// LowerLog turns prints, and with asserts assertions, of the kernel into writes of
// records to the device log (package devlog), which it adds to the kernel's arguments.
// A thread whose assertion fails ends after its record. LowerLog returns the sites in
// the order of their numbers, none if the kernel has none.
//
// It is not in the table of passes, because it comes after what looks at the control
// flow of threads: that of a thread that failed counts no more.
func LowerLog(m *ir.Module, asserts bool) []devlog.Site {
	f := m.Kernel()
	l := &logLowering{m: m, f: f, asserts: asserts}
	if !slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return slices.ContainsFunc(b.Instrs, l.wanted) }) {
		return nil
	}
	l.log, l.n, l.launch = f.NewParam(ir.PtrTo(ir.Global, ir.U64)), f.NewParam(ir.I64), f.NewParam(ir.U64)
	f.Args = append(f.Args, logArgs[:]...)
	for _, b := range slices.Clone(f.Blocks) {
		for b != nil {
			b = l.first(b)
		}
	}
	return l.sites
}

type logLowering struct {
	m              *ir.Module
	f              *ir.Func
	asserts        bool
	log, n, launch *ir.Value
	sites          []devlog.Site
	b              *ir.Block // where instructions go
	pos            int
}

func (l *logLowering) wanted(v *ir.Value) bool {
	return v.Op == ir.OpPrint || v.Op == ir.OpAssert && l.asserts
}

// first lowers the first site of b and returns the block that has the rest of b,
// nil if there was no site.
func (l *logLowering) first(b *ir.Block) *ir.Block {
	i := slices.IndexFunc(b.Instrs, l.wanted)
	if i < 0 {
		return nil
	}
	v := b.Instrs[i]
	rest := l.f.NewBlock()
	for _, w := range b.Instrs[i+1:] {
		rest.Append(w)
	}
	rest.Term = b.Term
	clear(b.Instrs[i:])
	b.Instrs, b.Term = b.Instrs[:i], ir.Term{}
	l.b, l.pos = b, v.Pos
	if v.Op == ir.OpPrint {
		l.record(v, rest)
		return rest
	}
	failed, end := l.f.NewBlock(), l.f.NewBlock()
	b.Branch(v.Args[0], rest, failed)
	l.b = end
	end.Return()
	l.b = failed
	l.record(v, end)
	return rest
}

// record writes the record of v, and goes on at next.
func (l *logLowering) record(v *ir.Value, next *ir.Block) {
	site := devlog.Site{Text: l.m.Texts[v.Imm], Pos: v.Pos, Assert: v.Op == ir.OpAssert}
	var values []*ir.Value
	if !site.Assert {
		values = v.Args
	}
	for _, x := range values {
		site.Values = append(site.Values, x.Type.String())
	}
	l.sites = append(l.sites, site)

	size := l.konst(ir.U64, uint64(devlog.RecordHeader+len(values)))
	from := l.emit(ir.OpAtomicAdd, ir.U64, l.log, size)
	to := l.emit(ir.OpAdd, ir.U64, from, size)
	room := l.emit(ir.OpSub, ir.U64, l.emit(ir.OpConvert, ir.U64, l.n), l.konst(ir.U64, devlog.Header))
	write, lost := l.f.NewBlock(), l.f.NewBlock()
	l.b.Branch(l.emit(ir.OpLe, ir.Bool, to, room), write, lost)

	l.b = write
	at := l.emit(ir.OpOffset, l.log.Type, l.log, l.emit(ir.OpConvert, ir.I64, from))
	for i, w := range l.words(values) {
		l.emit(ir.OpStore, ir.Void, l.emit(ir.OpOffset, at.Type, at, l.konst(ir.I64, uint64(devlog.Header+i))), w)
	}
	write.Jump(next)

	l.b = lost
	l.count(devlog.Lost)
	if site.Assert {
		l.count(devlog.Failed)
	}
	lost.Jump(next)
}

// words returns the words of the record of the latest site.
func (l *logLowering) words(values []*ir.Value) []*ir.Value {
	out := []*ir.Value{
		devlog.RecordSite:   l.konst(ir.U64, uint64(len(l.sites))),
		devlog.RecordLaunch: l.launch,
		devlog.RecordBlock:  l.pair(l.axis(ir.OpBlock, 0), l.axis(ir.OpBlock, 1)),
		devlog.RecordMiddle: l.pair(l.axis(ir.OpBlock, 2), l.axis(ir.OpThread, 0)),
		devlog.RecordThread: l.pair(l.axis(ir.OpThread, 1), l.axis(ir.OpThread, 2)),
	}
	for _, x := range values {
		out = append(out, l.word(x))
	}
	return out
}

// count adds one to a word of the log's header.
func (l *logLowering) count(word uint64) {
	p := l.emit(ir.OpOffset, l.log.Type, l.log, l.konst(ir.I64, word))
	l.emit(ir.OpAtomicAdd, ir.U64, p, l.konst(ir.U64, 1))
}

func (l *logLowering) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := l.b.Emit(l.f, op, t, args...)
	v.Pos = l.pos
	return v
}

func (l *logLowering) konst(t *ir.Type, bits uint64) *ir.Value { return l.b.EmitConst(l.f, t, bits) }

func (l *logLowering) axis(op ir.Op, axis uint64) *ir.Value {
	v := l.emit(op, ir.I64)
	v.Imm = axis
	return l.emit(ir.OpConvert, ir.U64, v)
}

// pair puts two numbers of at most 32 bits into one word.
func (l *logLowering) pair(low, high *ir.Value) *ir.Value {
	return l.emit(ir.OpOr, ir.U64, low, l.emit(ir.OpShl, ir.U64, high, l.konst(ir.U32, 32)))
}

// word returns a value as 64 bits.
func (l *logLowering) word(x *ir.Value) *ir.Value {
	switch {
	case x.Type == ir.Bool:
		return l.emit(ir.OpSelect, ir.U64, x, l.konst(ir.U64, 1), l.konst(ir.U64, 0))
	case !x.Type.IsInt():
		if x.Type != ir.F64 {
			x = l.emit(ir.OpConvert, ir.F64, x)
		}
		return l.emit(ir.OpBitcast, ir.U64, x)
	case x.Type == ir.U64:
		return x
	}
	return l.emit(ir.OpConvert, ir.U64, x)
}
