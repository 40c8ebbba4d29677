//go:build amd64

package native

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// addOne is: add qword [rdi], 1; change every register that a kernel may; ret.
var addOne = []byte{
	0x48, 0x83, 0x07, 0x01, // add qword ptr [rdi], 1
	0x31, 0xc0, 0x31, 0xc9, 0x31, 0xd2, 0x31, 0xdb, 0x31, 0xf6, // xor eax, ecx, edx, ebx, esi
	0x31, 0xff, 0x31, 0xed, // xor edi, ebp
	0x4d, 0x31, 0xc0, 0x4d, 0x31, 0xc9, 0x4d, 0x31, 0xd2, 0x4d, 0x31, 0xdb, // xor r8 to r11
	0x4d, 0x31, 0xe4, 0x4d, 0x31, 0xed, 0x4d, 0x31, 0xf6, 0x4d, 0x31, 0xff, // xor r12 to r15
	0x66, 0x45, 0x0f, 0x76, 0xff, // pcmpeqd xmm15, xmm15
	0xc3, // ret
}

// spin counts [rdi+8] down to zero, and then adds one to [rdi].
var spin = append([]byte{
	0x48, 0x8b, 0x47, 0x08, // mov rax, [rdi+8]
	0x48, 0xff, 0xc8, // dec rax
	0x75, 0xfb, // jnz -5
}, addOne...)

func newCode(t testing.TB, code []byte) *Code {
	t.Helper()
	c, err := NewCode(t.Name(), code)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newCtx(t testing.TB) *[2]uint64 {
	t.Helper()
	mem, err := mapWritable(4096)
	require.NoError(t, err)
	t.Cleanup(func() { unmap(mem) })
	return (*[2]uint64)(unsafe.Pointer(unsafe.SliceData(mem)))
}

func addr(ctx *[2]uint64) uintptr { return uintptr(unsafe.Pointer(ctx)) }

func TestCall(t *testing.T) {
	c, ctx := newCode(t, addOne), newCtx(t)
	for range 1000 {
		call(c.Base(), addr(ctx))
	}
	require.EqualValues(t, 1000, ctx[0])
	require.Zero(t, testing.AllocsPerRun(100, func() { call(c.Base(), addr(ctx)) }))
}

// Calls from stacks that have just grown and that are about to, while the collector
// shrinks and scans them.
func TestCallFromDeepStacks(t *testing.T) {
	c := newCode(t, addOne)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var wg sync.WaitGroup
	for g := range 8 {
		ctx := newCtx(t)
		wg.Go(func() {
			n := 0
			for i := range 300 {
				n += deep(c, ctx, (i*37+g)%400)
			}
			if uint64(n) != ctx[0] {
				t.Errorf("%d calls counted, %d made", ctx[0], n)
			}
		})
	}
	wg.Wait()
}

// deep calls on every level of a recursion, with something on the stack that moves
// with it.
func deep(c *Code, ctx *[2]uint64, n int) int {
	var pad [64]int
	here := &pad[n%64]
	*here = n
	call(c.Base(), addr(ctx))
	calls := 1
	if n > 0 {
		calls += deep(c, ctx, n-1)
	}
	if *here != n || here != &pad[n%64] {
		panic("the stack is not what it was")
	}
	return calls
}

// spinFor sets ctx to spin for about that long, or longer on a machine that has other
// things to do: the shortest of some trials is what the code takes.
func spinFor(t *testing.T, c *Code, ctx *[2]uint64, d time.Duration) {
	t.Helper()
	ctx[1] = 1 << 20
	least := time.Duration(math.MaxInt64)
	for range 10 {
		start := time.Now()
		call(c.Base(), addr(ctx))
		least = min(least, time.Since(start))
	}
	ctx[1] = uint64(float64(ctx[1]) * float64(d) / float64(least))
}

// With one processor, others run while native code does, and the collector too.
func TestOthersRunMeanwhile(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c, ctx := newCode(t, spin), newCtx(t)
	spinFor(t, c, ctx, 50*time.Millisecond)
	var steps, collections atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				steps.Add(1)
				runtime.Gosched()
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
				collections.Add(1)
			}
		}
	})
	most, cycles := int64(0), int64(0)
	for range 5 {
		before, gcs := steps.Load(), collections.Load()
		call(c.Base(), addr(ctx))
		most, cycles = max(most, steps.Load()-before), cycles+collections.Load()-gcs
	}
	close(stop)
	wg.Wait()
	require.Greater(t, most, int64(100), "steps of another goroutine during 50 ms of native code")
	require.Greater(t, cycles, int64(2), "collections during 250 ms of native code")
}

// Signals of the profiler and of the scheduler arrive in native code.
func TestProfiling(t *testing.T) {
	c, ctx := newCode(t, spin), newCtx(t)
	spinFor(t, c, ctx, 20*time.Millisecond)
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		t.Skip(err) // the tests are being profiled
	}
	var wg sync.WaitGroup
	for range 4 {
		own := newCtx(t)
		own[1] = ctx[1]
		wg.Go(func() {
			for range 10 {
				call(c.Base(), addr(own))
				if own[0] == 0 {
					panic("did not run")
				}
			}
		})
	}
	wg.Wait()
	pprof.StopCPUProfile()
	require.NotZero(t, out.Len())
}

// The execution tracer follows a processor that is taken from native code.
func TestExecutionTrace(t *testing.T) {
	c, ctx := newCode(t, spin), newCtx(t)
	spinFor(t, c, ctx, 2*time.Millisecond)
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skip(err) // the tests are being traced
	}
	var wg sync.WaitGroup
	for range 4 {
		own := newCtx(t)
		wg.Go(func() {
			for range 20 {
				own[1] = ctx[1]
				call(c.Base(), addr(own))
				runtime.GC()
			}
		})
	}
	wg.Wait()
	trace.Stop()
	require.NotZero(t, out.Len())
}

func TestTracebackOfOthers(t *testing.T) {
	c, ctx := newCode(t, spin), newCtx(t)
	spinFor(t, c, ctx, 200*time.Millisecond)
	done := make(chan struct{})
	go func() { call(c.Base(), addr(ctx)); close(done) }()
	buf := make([]byte, 1<<20)
	seen := false
	for range 100 {
		text := string(buf[:runtime.Stack(buf, true)])
		if i := strings.Index(text, "native.call("); i > 0 && strings.Contains(text[i:], "TestTracebackOfOthers.func") {
			seen = true
			break
		}
		time.Sleep(time.Millisecond)
	}
	<-done
	require.True(t, seen, "a traceback through native code")
}

func TestManyAtOnce(t *testing.T) {
	c := newCode(t, addOne)
	var wg sync.WaitGroup
	for range 64 {
		ctx := newCtx(t)
		wg.Go(func() {
			garbage := [][]byte{}
			for i := range 2000 {
				call(c.Base(), addr(ctx))
				if i%50 == 0 {
					garbage = append(garbage[:i%7], make([]byte, 1000))
				}
			}
			if ctx[0] != 2000 {
				t.Errorf("%d calls, want 2000", ctx[0])
			}
		})
	}
	wg.Wait()
}

// No page is writable and executable.
func TestWriteXorExecute(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc/self/maps, which Linux has")
	}
	c := newCode(t, addOne)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	found := false
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var perms string
		_, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms)
		require.NoError(t, err, line)
		require.False(t, strings.Contains(perms, "w") && strings.Contains(perms, "x"), line)
		if b := uint64(c.Base()); from <= b && b < to {
			found = true
			require.Equal(t, "r-xp", perms)
		}
	}
	require.True(t, found)
}

func TestCodeIsUnmapped(t *testing.T) {
	c := newCode(t, addOne)
	require.NoError(t, c.m.acquire())
	require.NoError(t, c.m.acquire())
	c.Close()
	c.Close()
	require.ErrorIs(t, c.m.acquire(), ErrClosed)
	ctx := newCtx(t)
	c.m.release()
	call(c.Base(), addr(ctx)) // still mapped for the other user
	require.EqualValues(t, 1, ctx[0])
	c.m.release()
	require.False(t, mapped(t, c.Base()))
	c.Close()
	_, err := NewCode("empty", nil)
	require.Error(t, err)
}

// mapped reports whether an address is that of executable memory.
func mapped(t *testing.T, p uintptr) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("reads /proc/self/maps, which Linux has")
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var perms string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms); err == nil && from <= uint64(p) && uint64(p) < to {
			return perms == "r-xp"
		}
	}
	return false
}

func TestForgottenCodeIsUnmapped(t *testing.T) {
	base := func() uintptr {
		c, err := NewCode("forgotten", addOne)
		require.NoError(t, err)
		return c.Base()
	}()
	require.Eventually(t, func() bool { runtime.GC(); return !mapped(t, base) }, time.Minute, time.Millisecond)
}

func TestPerfMap(t *testing.T) {
	p := perfFile{wanted: true, dir: t.TempDir()}
	p.add(0xabc000, 64, "Scale\n[float32]")
	p.add(0xdef000, 128, "Add")
	require.NoError(t, p.file.Close())
	text, err := os.ReadFile(p.file.Name())
	require.NoError(t, err)
	require.Equal(t, "abc000 40 Scale [float32]\ndef000 80 Add\n", string(text))
	broken := perfFile{wanted: true, dir: t.TempDir() + "/none"}
	broken.add(1, 2, "x")
	require.False(t, broken.wanted)
	(&perfFile{}).add(1, 2, "x")
}

func BenchmarkCall(b *testing.B) {
	c, ctx := newCode(b, addOne), newCtx(b)
	for b.Loop() {
		call(c.Base(), addr(ctx))
	}
}

func BenchmarkEnterOnly(b *testing.B) {
	c, ctx := newCode(b, addOne), newCtx(b)
	for b.Loop() {
		enter(c.Base(), addr(ctx))
	}
}
