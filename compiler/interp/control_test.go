package interp

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// intKernel wraps a body that works on %out, %i (global index), %t and %b.
func intKernel(body string) string {
	return `
module "m"
shared 0 "s" [64]i64
kernel @K(%out: ptr<global,i64>, %n: i64) args(out slice i64 "[]int") {
b0:` + global + body + `
}
pos !1 "k/k.go" 7 2
pos !2 "k/k.go" 9 2
`
}

// ints runs an intKernel over n threads in one block and returns what it wrote.
func ints(t *testing.T, n int, body string) []int64 {
	t.Helper()
	out := make([]int64, n)
	run(t, load(t, intKernel(body)), 1, n, out)
	return out
}

// out is the end of a body: thread i writes v.
func out(v string) string {
	return `
  %po = offset %out, %i : ptr<global,i64>
  store %po, ` + v + `
  ret`
}

func TestWarp(t *testing.T) {
	cases := []struct {
		name, body string
		want       func(i int64) int64
	}{
		{"lane", "%v = lane : i64", func(i int64) int64 { return i % 32 }},
		{"warp", "%v = warp : i64", func(i int64) int64 { return i / 32 }},
		{"warpsize", "%v = warpsize : i64", func(i int64) int64 { return 32 }},
		{"idx", "%k = const 37 : i64\n %v = shfl.idx %i, %k : i64", func(i int64) int64 { return i&^31 + 5 }},
		{"idx varying", "%v = shfl.idx %i, %i : i64", func(i int64) int64 { return i }},
		{"up", "%k = const 3 : i64\n %v = shfl.up %i, %k : i64", func(i int64) int64 {
			if i%32 < 3 {
				return i
			}
			return i - 3
		}},
		{"down", "%k = const 3 : i64\n %v = shfl.down %i, %k : i64", func(i int64) int64 {
			if i%32 > 28 {
				return i
			}
			return i + 3
		}},
		{"down far", "%k = const 9223372036854775807 : i64\n %v = shfl.down %i, %k : i64", func(i int64) int64 { return i }},
		{"xor", "%k = const 16 : i64\n %v = shfl.xor %i, %k : i64", func(i int64) int64 { return i ^ 16 }},
		{"xor of 32 bits", "%k = const 1 : i64\n %a = convert %i : f32\n %c = shfl.xor %a, %k : f32\n %v = convert %c : i64", func(i int64) int64 { return i ^ 1 }},
		{"uniform", "%k = const 1 : i64\n %v = shfl.xor %k, %k : i64", func(i int64) int64 { return 1 }},
		{"ballot", "%k = const 40 : i64\n %c = lt %i, %k : bool\n %m = ballot %c : u64\n %v = convert %m : i64", func(i int64) int64 {
			return []int64{1<<32 - 1, 1<<8 - 1}[i/32]
		}},
		{"any", "%k = const 40 : i64\n %c = ge %i, %k : bool\n %m = any %c : bool\n %o = const 1 : i64\n %z = const 0 : i64\n %v = select %m, %o, %z : i64", func(i int64) int64 { return i / 32 }},
		{"all", "%k = const 40 : i64\n %c = lt %i, %k : bool\n %m = all %c : bool\n %o = const 1 : i64\n %z = const 0 : i64\n %v = select %m, %o, %z : i64", func(i int64) int64 { return 1 - i/32 }},
	}
	for _, c := range cases {
		for i, v := range ints(t, 64, c.body+"\n  warpbarrier\n"+out("%v")) {
			require.Equal(t, c.want(int64(i)), v, "%s, thread %d", c.name, i)
		}
	}
}

// inWarp runs a warp operation for the threads of which %c holds.
const inWarp = `
  br %c, b1, b2
b1:
  %o = const 1 : i64
  %v = shfl.xor %i, %o : i64 !2
  %po = offset %out, %i : ptr<global,i64>
  store %po, %v
  jump b2
b2:
  ret`

func TestWarpPart(t *testing.T) {
	whole := ints(t, 96, "%o2 = const 5 : u64\n %w = shr %i, %o2 : i64\n %k = const 1 : i64\n %c = ne %w, %k : bool"+inWarp)
	require.Equal(t, []int64{1, 0}, whole[:2])
	require.Equal(t, make([]int64, 32), whole[32:64])
	require.Equal(t, []int64{65, 64}, whole[64:66])

	p := load(t, intKernel("%k = const 40 : i64\n %c = lt %i, %k : bool"+inWarp))
	err := tryRun(p, 1, 64, make([]int64, 64))
	require.EqualError(t, err, "k/k.go:9: kernel K: block (0,0,0), thread (32,0,0): warp operation without all threads of the warp: thread (40,0,0) returns")
	err = tryRun(p, 1, 33, make([]int64, 64))
	require.ErrorContains(t, err, "a block must be a multiple of 32 threads, not 33")
}

func TestBarrierDivergence(t *testing.T) {
	branch := load(t, intKernel(`
  %k = const 3 : i64
  %c = ne %t, %k : bool
  br %c, b1, b2
b1:
  barrier !1
  jump b2
b2:
  ret`))
	err := tryRun(branch, 2, 10, []int64{})
	require.EqualError(t, err, "k/k.go:7: kernel K: block (0,0,0), thread (0,0,0): barrier reached by 9 of 10 threads: thread (3,0,0) returns")
	early := load(t, intKernel(`
  %k = const 8 : i64
  %c = lt %t, %k : bool
  br %c, b1, b2
b1:
  barrier !1
  ret
b2:
  ret`))
	require.NoError(t, tryRun(early, 1, 8, []int64{}))
	require.ErrorContains(t, tryRun(early, 1, 9, []int64{}), "thread (8,0,0) returns")
}

func TestAssert(t *testing.T) {
	text := func(cond string) string {
		return `
module "m"
text 0 "is wrong"
kernel @K(%n: i64) args(n scalar i64 "int") {
b0:` + global + cond + `
  assert %c, 0 !1
  ret
}
pos !1 "k.go" 7 3`
	}
	for name, c := range map[string]struct{ cond, want string }{
		"varying": {"\n  %c = lt %i, %n : bool", "k.go:7: kernel K: block (1,0,0), thread (16,0,0): assertion failed: is wrong"},
		"uniform": {"\n  %c = lt %b, %n : bool", ""},
		"fails":   {"\n  %c = lt %n, %b : bool", "k.go:7: kernel K: block (0,0,0), thread (0,0,0): assertion failed: is wrong"},
	} {
		err := load(t, text(c.cond)).Run(Launch{Grid: [3]int{3}, Block: [3]int{64}, Args: pack(80)})
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want, name)
	}
	_, err := Load("k", []byte("module \"m\"\ntext 0 \"\"\nkernel @K() args() {\nb0:\n  print 0\n  ret\n}\n"))
	require.ErrorContains(t, err, "kernel K prints: turn that into writes to the device log first")
}

func TestSharedIsPoisoned(t *testing.T) {
	got := ints(t, 64, `
  %s = shared 0 : ptr<shared,[64]i64>
  %p = index %s, %t : ptr<shared,i64>
  %v = load %p : i64
  store %p, %i`+out("%v"))
	for _, v := range got {
		require.Equal(t, int64(-1), v)
	}
}

func TestBoolInMemory(t *testing.T) {
	got := ints(t, 40, `
  %l = local : ptr<local,[4]bool>
  %z = const 0 : i64
  %one = const 1 : i64
  zero %l
  %p0 = index %l, %z : ptr<local,bool>
  %k = const 7 : i64
  %c = gt %i, %k : bool
  store %p0, %c
  %p1 = index %l, %one : ptr<local,bool>
  %r = load %p0 : bool
  %q = load %p1 : bool
  %b2x = or %r, %q : bool
  %v = select %b2x, %one, %z : i64`+out("%v"))
	for i, v := range got {
		require.Equal(t, int64(b2u(i > 7)), v, i)
	}
}

func TestAtomics(t *testing.T) {
	types := []*ir.Type{ir.F16, ir.BF16, ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64, ir.F32, ir.F64}
	ops := []ir.Op{ir.OpAtomicAdd, ir.OpAtomicMin, ir.OpAtomicMax, ir.OpAtomicAnd, ir.OpAtomicOr, ir.OpAtomicXor, ir.OpAtomicExch, ir.OpAtomicCAS}
	for _, op := range ops {
		for _, typ := range types {
			if !ir.AtomicType(op, typ) || typ.IsFloat() && op == ir.OpAtomicCAS {
				continue
			}
			for _, space := range []ir.Space{ir.Global, ir.Shared} {
				t.Run(fmt.Sprint(op, typ, space), func(t *testing.T) { checkAtomic(t, op, typ, space) })
			}
		}
	}
}

// checkAtomic lets each thread work on one of 7 words: those of a thread follow each
// other, so that the old values of a word must be a chain.
func checkAtomic(t *testing.T, op ir.Op, typ *ir.Type, space ir.Space) {
	const words, threads = 7, 200
	extra := ""
	if op == ir.OpAtomicCAS {
		extra = ", %y"
	}
	text := strings.ReplaceAll(fmt.Sprintf(`
module "m"
shared 0 "s" [7]T
kernel @K(%%mem: ptr<global,T>, %%mn: i64, %%old: ptr<global,T>, %%on: i64) args(mem slice T "x", old slice T "x") {
b0:%s
  %%k = const 7 : i64
  %%w = rem %%i, %%k : i64
  %%pg = offset %%mem, %%w : ptr<global,T>
  %%s = shared 0 : ptr<shared,[7]T>
  %%ps = index %%s, %%w : ptr<shared,T>
  %%first = load %%pg : T
  store %%ps, %%first
  barrier
  %%ix = sub %%i, %%k : i64
  %%y = convert %%ix : T
  %%r = %s %%p%s, %%y%s : T
  %%po = offset %%old, %%i : ptr<global,T>
  store %%po, %%r
  barrier
  %%last = load %%p%s : T
  store %%pg, %%last
  ret
}`, global, op, space.String()[:1], extra, space.String()[:1]), "T", typ.String())
	p := load(t, text)
	start := make([]uint64, words)
	for i := range start {
		start[i] = normal(typ, int64(i*3))
	}
	mem, old := memory(typ, start), make([]byte, threads*8)
	require.NoError(t, p.Run(Launch{Grid: [3]int{1}, Block: [3]int{threads}, Args: pack(mem, old)}))
	want := append([]uint64{}, start...)
	for i := range threads {
		w := i % words
		require.Equal(t, want[w], get(old, typ, i), "old value of thread %d", i)
		want[w] = applyAtomic(op, typ, want[w], normal(typ, int64(i-words)))
	}
	for w := range want {
		require.Equal(t, want[w], get(mem, typ, w), "word %d", w)
	}
}

func normal(t *ir.Type, x int64) uint64 {
	r, _ := ir.Eval(ir.OpConvert, t, 0, []uint64{uint64(x)}, []*ir.Type{ir.I64})
	return r
}

func applyAtomic(op ir.Op, t *ir.Type, x, y uint64) uint64 {
	pure := map[ir.Op]ir.Op{ir.OpAtomicAdd: ir.OpAdd, ir.OpAtomicMin: ir.OpMin, ir.OpAtomicMax: ir.OpMax,
		ir.OpAtomicAnd: ir.OpAnd, ir.OpAtomicOr: ir.OpOr, ir.OpAtomicXor: ir.OpXor}
	switch op {
	case ir.OpAtomicExch:
		return y
	case ir.OpAtomicCAS:
		return x // y replaces y
	}
	if t.IsHalf() { // small integers, whose sums need no rounding
		wide := func(x uint64) uint64 {
			r, _ := ir.Eval(ir.OpConvert, ir.I64, 0, []uint64{x}, []*ir.Type{t})
			return r
		}
		return normal(t, int64(wide(x)+wide(y)))
	}
	r, _ := ir.Eval(pure[op], t, 0, []uint64{x, y}, []*ir.Type{t, t})
	return r
}

// TestAtomicCounter draws tickets from one counter in many blocks at once.
func TestAtomicCounter(t *testing.T) {
	p := load(t, `
module "m"
kernel @K(%c: ptr<global,i64>, %cn: i64, %hits: ptr<global,i64>, %n: i64) args(c slice i64 "x", hits slice i64 "x") {
b0:
  %t = thread 0 : i64
  %two = const 2 : i64
  %one = const 1 : i64
  %r = rem %t, %two : i64
  %odd = eq %r, %one : bool
  br %odd, b1, b2
b1:
  %k = atomic.add %c, %one : i64
  bounds %k, %n
  %p = offset %hits, %k : ptr<global,i64>
  %h = atomic.add %p, %one : i64
  ret
b2:
  ret
}`)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			counter, hits := make([]int64, 1), make([]int64, 64*100)
			run(t, p, 64, 200, counter, hits)
			for i, h := range hits {
				if h != 1 {
					t.Errorf("ticket %d drawn %d times", i, h)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func TestGeometry(t *testing.T) {
	p := load(t, `
module "m"
kernel @K(%out: ptr<global,i64>, %n: i64) args(out slice i64 "x") {
b0:
  %tx = thread 0 : i64
  %ty = thread 1 : i64
  %tz = thread 2 : i64
  %bx = block 0 : i64
  %by = block 1 : i64
  %bz = block 2 : i64
  %dx = blockdim 0 : i64
  %dy = blockdim 1 : i64
  %dz = blockdim 2 : i64
  %gx = griddim 0 : i64
  %gy = griddim 1 : i64
  %a1 = mul %bz, %gy : i64
  %a2 = add %a1, %by : i64
  %a3 = mul %a2, %gx : i64
  %a4 = add %a3, %bx : i64
  %a5 = mul %a4, %dz : i64
  %a6 = add %a5, %tz : i64
  %a7 = mul %a6, %dy : i64
  %a8 = add %a7, %ty : i64
  %a9 = mul %a8, %dx : i64
  %i = add %a9, %tx : i64
  bounds %i, %n
  %p = offset %out, %i : ptr<global,i64>
  %one = const 1 : i64
  %v = add %i, %one : i64
  store %p, %v
  ret
}`)
	for _, l := range []Launch{
		{Grid: [3]int{1}, Block: [3]int{1}},
		{Grid: [3]int{3, 2, 2}, Block: [3]int{4, 3, 5}},
		{Grid: [3]int{2, 3}, Block: [3]int{32, 4, 2}},
		{Grid: [3]int{1, 1, 7}, Block: [3]int{1024}},
		{Grid: [3]int{5}, Block: [3]int{1, 1, 64}},
	} {
		n := 1
		for i := range 3 {
			n *= orOne(l.Grid[i]) * orOne(l.Block[i])
		}
		out := make([]int64, n)
		l.Args = pack(out)
		require.NoError(t, p.Run(l), "%v", l)
		for i, v := range out {
			require.Equal(t, int64(i+1), v, "grid %v, block %v", l.Grid, l.Block)
		}
		l.Args = pack(out[:n-1])
		var ke *KernelError
		require.ErrorAs(t, p.Run(l), &ke)
		for i := range 3 {
			require.Equal(t, orOne(l.Block[i])-1, ke.Thread[i], "%v", ke)
			require.Equal(t, orOne(l.Grid[i])-1, ke.Block[i], "%v", ke)
		}
	}
}

func TestLaunchErrors(t *testing.T) {
	p := load(t, saxpy)
	require.Equal(t, "Saxpy", p.Name())
	require.Equal(t, 36, p.ArgSize())
	args := pack([]float32{}, []float32{}, float32(1))
	for _, c := range []struct {
		l    Launch
		want string
	}{
		{Launch{Grid: [3]int{1}, Block: [3]int{1}, Args: args[:35]}, "argument block of 35 bytes, the kernel's parameters take 36"},
		{Launch{Grid: [3]int{1}, Block: [3]int{1}, Args: append(args, make([]byte, 8)...)}, "argument block of 44 bytes"},
		{Launch{Grid: [3]int{1}, Block: [3]int{0}, Args: args}, "not possible"},
		{Launch{Grid: [3]int{-1}, Block: [3]int{1}, Args: args}, "not possible"},
		{Launch{Grid: [3]int{1}, Block: [3]int{1025}, Args: args}, "too large"},
		{Launch{Grid: [3]int{1}, Block: [3]int{32, 33}, Args: args}, "has 1056 threads, the limit is 1024"},
		{Launch{Grid: [3]int{1 << 40, 1 << 40}, Block: [3]int{1}, Args: args}, "too large"},
	} {
		require.ErrorContains(t, p.Run(c.l), c.want)
	}
	require.NoError(t, p.Run(Launch{Grid: [3]int{0}, Block: [3]int{1}, Args: args}))
	require.NoError(t, p.Run(Launch{Grid: [3]int{1}, Block: [3]int{1}, Args: append(args, 0, 0, 0, 0)}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.Run(Launch{Grid: [3]int{1}, Block: [3]int{1}, Args: args, Ctx: ctx}), context.Canceled)
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"nonsense", "load bad: ir:1:"},
		{`module "m"`, "no kernel"},
		{"module \"m\"\nkernel @K() args() {\nb0:\n  %a = add %b, %b : i64\n  ret\n}", "load bad:"},
		{"module \"m\"\nfunc @f() {\nb0:\n  ret\n}\nkernel @K() args() {\nb0:\n  call @f\n  ret\n}", "inline pass"},
		{"module \"m\"\nkernel @K() args() {\nb0:\n  %l = local : ptr<local,[1048577]u8>\n  ret\n}", "the limit is 1048576"},
		{"module \"m\"\nshared 0 \"a\" [1048000]u8\nshared 1 \"b\" [1048000]u8\nkernel @K() args() {\nb0:\n  ret\n}", "the limit is 1048576"},
		{"module \"m\"\nkernel @K(%c: bool) args(c scalar bool \"bool\") {\nb0:\n  br %c, b1, b2\nb1:\n  br %c, b2, b3\nb2:\n  br %c, b1, b3\nb3:\n  ret\n}", "irreducible"},
	} {
		_, err := Load("bad", []byte(c.text))
		require.ErrorContains(t, err, c.want)
	}
}

func TestBadAddress(t *testing.T) {
	p := load(t, intKernel(`
  %v = load %out : i64 !2
  store %out, %v
  ret`))
	err := tryRun(p, 4, 8, []int64(nil))
	var ke *KernelError
	require.ErrorAs(t, err, &ke)
	require.ErrorContains(t, err, "used a bad address")
	require.NoError(t, tryRun(p, 4, 8, []int64{1}), "the program still works")
}

// TestFirstError reports the failure of the first block even when later ones fail
// sooner.
func TestFirstError(t *testing.T) {
	p := load(t, intKernel("  bounds %i, %n !1\n"+out("%i")))
	for range 20 {
		var ke *KernelError
		require.ErrorAs(t, tryRun(p, 500, 64, make([]int64, 64*3+5)), &ke)
		require.Equal(t, [3]int{3}, ke.Block)
		require.Equal(t, [3]int{5}, ke.Thread)
	}
}

// TestWorkers runs a program from several goroutines with different blocks.
func TestWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := load(t, reduce)
	q := load(t, saxpy)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range 5 {
				x, y := make([]float32, 256*40), make([]float32, 40)
				z := make([]float32, len(x))
				for i := range x {
					x[i] = float32(g + 1)
				}
				run(t, p, 40, 256, y, x)
				run(t, q, 20+k, 32*(g+1), z, x, float32(2))
				for i := range y {
					if y[i] != 256*float32(g+1) || z[i] != 2*float32(g+1) {
						t.Errorf("block %d: %v, %v", i, y[i], z[i])
						return
					}
				}
			}
		}()
	}
	wg.Wait()
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{saxpy, blur, histogram, reduce, matmul, polyKernel()} {
		f.Add([]byte(s))
	}
	for seed := range uint64(10) {
		f.Add([]byte(randomKernel(seed).String()))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Load("fuzz", text)
		if (p == nil) == (err == nil) {
			t.Fatal("neither a program nor an error")
		}
		if p != nil {
			_, _ = p.choose([3]int{64, 1, 1})
			_, _ = p.choose([3]int{7, 3, 1})
		}
	})
}
