package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// logArgs are the arguments that [LowerLog] adds to the kernel.
var logArgs = [LogArgs]ir.Arg{
	{Name: "log_counts", Kind: ir.ArgSlice, Elem: ir.U32, Go: "[]uint32"},
	{Name: "log", Kind: ir.ArgSlice, Elem: ir.U64, Go: "[]uint64"},
	{Name: "launch", Kind: ir.ArgScalar, Elem: ir.U64, Go: "uint64"},
}

// LogArgs is how many arguments [LowerLog] adds to a kernel that writes to the log.
const LogArgs = 3

// LowerLog turns prints, and with failures assertions and checks, of the kernel into
// writes of records to the device log (package devlog), which it adds to the kernel's
// arguments. A thread that fails ends after its record. LowerLog returns the sites in
// the order of their numbers, none if the kernel has none.
//
// A failed thread returns, instead of trapping, because a trap takes the whole context
// of the process on the device with it. The others of its block go on: a barrier waits
// for the threads that have not returned only, on all targets there are (NVIDIA's since
// sm_70), and a warp operation gives something undefined for a lane that has, which
// does no harm because the launch has failed. Memory stays safe, for they are checked
// themselves. Only a thread that spins until the failed one has written something
// waits for ever.
//
// LowerLog is not in the table of passes, because it comes after what looks at the
// control flow of threads: that of a thread that failed counts no more.
func LowerLog(m *ir.Module, failures bool) []devlog.Site {
	f := m.Kernel()
	l := &logLowering{m: m, f: f, failures: failures}
	if !slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return slices.ContainsFunc(b.Instrs, l.wanted) }) {
		return nil
	}
	l.counts = f.NewParam(ir.PtrTo(ir.Global, ir.U32))
	f.NewParam(ir.I64) // there are always as many counts
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
	failures       bool
	counts         *ir.Value
	log, n, launch *ir.Value // n is below devlog.Most
	sites          []devlog.Site
	fail           *ir.Block // writes the record of any failure and ends the thread
	b              *ir.Block // where instructions go
	pos            int
}

func (l *logLowering) wanted(v *ir.Value) bool {
	return v.Op == ir.OpPrint || l.failures && (v.Op == ir.OpAssert || isCheck(v.Op))
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
		l.print(v, rest)
	} else {
		l.check(v, rest)
	}
	return rest
}

// print writes the record of print v, and goes on at next.
func (l *logLowering) print(v *ir.Value, next *ir.Block) {
	site := devlog.Site{Text: l.m.Texts[v.Imm], Pos: v.Pos}
	for _, x := range v.Args {
		site.Values = append(site.Values, x.Type.String())
	}
	l.record(l.site(site), func() (words []*ir.Value) {
		for _, x := range v.Args {
			words = append(words, l.word(x))
		}
		return words
	}, len(v.Args), next)
}

// site returns the number of a new site.
func (l *logLowering) site(s devlog.Site) *ir.Value {
	l.sites = append(l.sites, s)
	return l.konst(ir.U64, uint64(len(l.sites)))
}

// check goes on at next if v holds and ends the thread with a record otherwise.
func (l *logLowering) check(v *ir.Value, next *ir.Block) {
	holds, site, values := l.condition(v)
	failed := l.f.NewBlock()
	l.b.Branch(holds, next, failed)
	l.b = failed
	args := make([]*ir.Value, devlog.FailureValues)
	for i := range args {
		if i < len(values) {
			site.Values = append(site.Values, values[i].Type.String())
			args[i] = l.word(values[i])
		} else {
			site.Values = append(site.Values, ir.U64.String())
			args[i] = l.konst(ir.U64, 0)
		}
	}
	n := l.site(site)
	failed.Jump(l.failure(), append([]*ir.Value{n}, args...)...)
}

// condition returns what v wants to be true, and the site and the values of the
// record if it is not.
func (l *logLowering) condition(v *ir.Value) (holds *ir.Value, site devlog.Site, values []*ir.Value) {
	site = devlog.Site{Pos: v.Pos, Fails: true}
	x := v.Args[0]
	switch v.Op {
	case ir.OpBounds:
		site.Check = devlog.Check(v.Imm)
		return l.emit(ir.OpLt, ir.Bool, l.word(x), l.word(v.Args[1])), site, v.Args // a negative index is large
	case ir.OpDivisor:
		site.Check = devlog.Divide
		return l.emit(ir.OpNe, ir.Bool, v.Args[1], l.konst(x.Type, 0)), site, v.Args[:1]
	case ir.OpCount:
		site.Check = devlog.Shift
		return l.emit(ir.OpGe, ir.Bool, x, l.konst(x.Type, 0)), site, v.Args
	case ir.OpNonNil:
		site.Check = devlog.Nil
	default:
		site.Check, site.Text = devlog.Asserting(len(v.Args)-1), l.m.Texts[v.Imm]
		return x, site, v.Args[1:]
	}
	return x, site, nil
}

// failure returns the block that ends failed threads. Its parameters are the number
// of the site and the values. There is one, because a kernel may have hundreds of
// checks.
func (l *logLowering) failure() *ir.Block {
	if l.fail != nil {
		return l.fail
	}
	l.fail = l.f.NewBlock()
	site := l.fail.NewParam(l.f, ir.U64)
	for range devlog.FailureValues {
		l.fail.NewParam(l.f, ir.U64)
	}
	l.b, l.pos = l.fail, 0 // it has no position
	end := l.f.NewBlock()
	l.record(site, func() []*ir.Value { return l.fail.Params[1:] }, devlog.FailureValues, end)
	if words := gridWords(l.f); words != nil {
		l.b = end
		l.emit(ir.OpAtomicOr, ir.U32, gridWord(l.f, end, words, gridFailed, l.pos), l.konst(ir.U32, 1))
	}
	end.Return()
	return l.fail
}

// record writes the record of a site with n values, which it calls for where it
// wants them, and goes on at next.
func (l *logLowering) record(site *ir.Value, values func() []*ir.Value, n int, next *ir.Block) {
	size := l.konst(ir.U32, uint64(devlog.RecordHeader+n))
	room := l.emit(ir.OpConvert, ir.U32, l.n)
	reserve, write, lost, count := l.f.NewBlock(), l.f.NewBlock(), l.f.NewBlock(), l.f.NewBlock()
	// A log that is full is not added to: the sum would begin again at zero.
	l.b.Branch(l.emit(ir.OpLe, ir.Bool, l.emit(ir.OpAtomicLoad, ir.U32, l.countAt(devlog.Used)), room), reserve, lost)

	l.b = reserve
	from := l.emit(ir.OpAtomicAdd, ir.U32, l.countAt(devlog.Used), size)
	l.b.Branch(l.emit(ir.OpLe, ir.Bool, l.emit(ir.OpAdd, ir.U32, from, size), room), write, lost)

	l.b = write
	at := l.emit(ir.OpOffset, l.log.Type, l.log, l.emit(ir.OpConvert, ir.I64, from))
	for i, w := range append(l.words(site), values()...) {
		l.emit(ir.OpStore, ir.Void, l.emit(ir.OpOffset, at.Type, at, l.konst(ir.I64, uint64(i))), w)
	}
	write.Jump(next)

	l.b = lost
	failure := l.fail != nil && site == l.fail.Params[0]
	if failure {
		l.markLaunch()
	}
	l.b.Branch(l.emit(ir.OpLt, ir.Bool, l.emit(ir.OpAtomicLoad, ir.U32, l.countAt(devlog.Lost)), l.konst(ir.U32, devlog.Most)), count, next)

	l.b = count
	l.count(devlog.Lost)
	if failure {
		l.count(devlog.Failed)
	}
	count.Jump(next)
}

// markLaunch sets the bit that says that the launch has lost the record of a failure.
func (l *logLowering) markLaunch() {
	i := l.emit(ir.OpAnd, ir.U32, l.emit(ir.OpConvert, ir.U32, l.launch), l.konst(ir.U32, devlog.FailedBits-1))
	word := l.emit(ir.OpConvert, ir.I64, l.emit(ir.OpShr, ir.U32, i, l.konst(ir.U32, 5)))
	at := l.emit(ir.OpOffset, l.counts.Type, l.countAt(devlog.Which), word)
	bit := l.emit(ir.OpShl, ir.U32, l.konst(ir.U32, 1), l.emit(ir.OpAnd, ir.U32, i, l.konst(ir.U32, 31)))
	l.emit(ir.OpAtomicOr, ir.U32, at, bit)
}

// words returns the first words of a record.
func (l *logLowering) words(site *ir.Value) []*ir.Value {
	return []*ir.Value{
		devlog.RecordSite:   site,
		devlog.RecordLaunch: l.launch,
		devlog.RecordBlock:  l.pair(l.axis(ir.OpBlock, 0), l.axis(ir.OpBlock, 1)),
		devlog.RecordMiddle: l.pair(l.axis(ir.OpBlock, 2), l.axis(ir.OpThread, 0)),
		devlog.RecordThread: l.pair(l.axis(ir.OpThread, 1), l.axis(ir.OpThread, 2)),
	}
}

// count adds one to a count of the log.
func (l *logLowering) count(i uint64) {
	l.emit(ir.OpAtomicAdd, ir.U32, l.countAt(i), l.konst(ir.U32, 1))
}

func (l *logLowering) countAt(i uint64) *ir.Value {
	return l.emit(ir.OpOffset, l.counts.Type, l.counts, l.konst(ir.I64, i))
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
	case x.IsConst() && x.Type.IsInt():
		return l.konst(ir.U64, x.Imm)
	case x.Type == ir.Bool:
		return l.emit(ir.OpSelect, ir.U64, x, l.konst(ir.U64, 1), l.konst(ir.U64, 0))
	case x.Type == ir.F64:
		return l.emit(ir.OpBitcast, ir.U64, x)
	case !x.Type.IsInt():
		if x.Type != ir.F32 {
			x = l.emit(ir.OpConvert, ir.F32, x)
		}
		return l.emit(ir.OpConvert, ir.U64, l.emit(ir.OpBitcast, ir.U32, x))
	case x.Type == ir.U64:
		return x
	}
	return l.emit(ir.OpConvert, ir.U64, x)
}
