//go:build amd64

package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/interp"
)

func load(t testing.TB, pool *Pool, img image.Image) *Program {
	t.Helper()
	if _, ok := Arch(); !ok {
		t.Skip(Has(ArchAVX2))
	}
	img.ISA, img.Warp = ArchAVX2, 8
	data, err := img.Encode()
	require.NoError(t, err)
	p, err := Load(pool, data, func(pos int) (string, int, int) { return fmt.Sprintf("visit%d.go", pos), 12, 1 })
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// words returns memory that stays where it is.
func words(t testing.TB, n int) []int64 {
	mem, err := mapWritable(8 * n)
	require.NoError(t, err)
	t.Cleanup(func() { unmap(mem) })
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// visits is a launch of visitCode.
type visits struct {
	p           *Program
	grid        [3]int
	seen, spins []int64
	args        []byte
}

func newVisits(t testing.TB, pool *Pool, grid [3]int) *visits {
	n := grid[0] * grid[1] * grid[2]
	v := &visits{grid: grid, seen: words(t, n), spins: words(t, n)}
	v.p = load(t, pool, image.Image{Kernel: "Visit", General: image.None, Args: 16, Code: visitCode,
		Sites: []image.Site{{Pos: 7}}})
	v.args = binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&v.seen[0]))))
	v.args = binary.LittleEndian.AppendUint64(v.args, uint64(uintptr(unsafe.Pointer(&v.spins[0]))))
	return v
}

func (v *visits) run() error {
	return v.p.Run(interp.Launch{Grid: v.grid, Block: [3]int{8, 1, 1}, Args: v.args})
}

func (v *visits) check(t testing.TB, want int64) {
	t.Helper()
	for i, n := range v.seen {
		if n != want {
			t.Fatalf("block %d ran %d times, want %d", i, n, want)
		}
	}
}

func processors(t testing.TB, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// Every block runs once, whatever the blocks cost and however many share them.
func TestEveryBlockRunsOnce(t *testing.T) {
	var pool Pool
	defer pool.Trim()
	for _, procs := range []int{1, 2, 3, 8} {
		processors(t, procs)
		for _, grid := range [][3]int{{1, 1, 1}, {2, 1, 1}, {7, 1, 1}, {64, 1, 1}, {5, 3, 4}, {1000, 3, 1}, {100_000, 1, 1}} {
			v := newVisits(t, &pool, grid)
			for i := range v.spins { // a few blocks take all the time
				if i%97 == 13 {
					v.spins[i] = 20_000
				}
			}
			for round := range 4 {
				require.NoError(t, v.run())
				v.check(t, int64(round+1))
				if round == 1 {
					clear(v.spins)
				}
			}
		}
	}
}

// The first block that fails decides, and the ones before it run.
func TestFirstFailureWins(t *testing.T) {
	processors(t, 4)
	v := newVisits(t, new(Pool), [3]int{50, 20, 4})
	for i := range v.spins {
		v.spins[i] = int64(i%50) * 100
	}
	for _, first := range []int{3999, 2222, 77, 0} {
		v.spins[first] = -5
		clear(v.seen)
		err := v.run()
		var k *interp.KernelError
		require.ErrorAs(t, err, &k)
		require.Equal(t, [3]int{first % 50, first / 50 % 20, first / 1000}, k.Block)
		require.Equal(t, [3]int{19, 1, 0}, k.Thread)
		require.Equal(t, "index out of range [-5]", k.Msg)
		for i := range first {
			require.EqualValues(t, 1, v.seen[i])
		}
	}
	require.EqualError(t, v.run(), "visit7.go:12: kernel Visit: block (0,0,0), thread (19,1,0): index out of range [-5]")
}

// A bad address is an error where that was asked for.
func TestTrap(t *testing.T) {
	trapping = true
	defer func() { trapping = false }()
	v := newVisits(t, new(Pool), [3]int{3, 4, 1})
	require.NoError(t, v.run())
	v.check(t, 1)
	fixed := newCode(t, addOne) // memory that cannot be written
	for _, bad := range []uint64{0x123456780, uint64(fixed.Base())} {
		args := binary.LittleEndian.AppendUint64(nil, bad)
		args = append(args, v.args[8:]...)
		for range 10 {
			err := v.p.Run(interp.Launch{Grid: v.grid, Block: [3]int{8}, Args: args})
			require.EqualError(t, err, fmt.Sprintf("kernel Visit: block (0,0,0), thread (0,0,0): native code used the address %#x", bad))
		}
	}
	v.p.img.Sites = nil
	v.spins[7] = -4
	require.ErrorContains(t, v.run(), "block (1,2,0)")
}

func TestUnknownSite(t *testing.T) {
	v := newVisits(t, new(Pool), [3]int{1, 1, 1})
	v.p.img.Sites = nil
	v.spins[0] = -1
	require.ErrorContains(t, v.run(), "a check failed that the code does not list (number 0)")
}

func TestCancelledLaunch(t *testing.T) {
	v := newVisits(t, new(Pool), [3]int{10_000, 1, 1})
	for i := range v.spins {
		v.spins[i] = 1_000_000
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	err := v.p.Run(interp.Launch{Grid: v.grid, Block: [3]int{1}, Args: v.args, Ctx: ctx})
	require.EqualError(t, err, "launch Visit: enough")
	require.Contains(t, v.seen, int64(0), "blocks that were not begun")
}

func TestImpossibleLaunches(t *testing.T) {
	v := newVisits(t, new(Pool), [3]int{1, 1, 1})
	for text, l := range map[string]interp.Launch{
		"argument block of 8 bytes, the kernel's parameters take 16": {Grid: v.grid, Block: [3]int{1}, Args: v.args[:8]},
		"is not possible":  {Grid: v.grid, Block: [3]int{-1}, Args: v.args},
		"has 2048 threads": {Grid: v.grid, Block: [3]int{64, 32, 1}, Args: v.args},
	} {
		require.ErrorContains(t, v.p.Run(l), text)
	}
	require.NoError(t, v.p.Run(interp.Launch{Grid: [3]int{0}, Block: [3]int{1}, Args: v.args}))
	v.check(t, 0)
	v.p.img.WarpOps = true
	err := v.p.Run(interp.Launch{Grid: v.grid, Block: [3]int{12}, Args: v.args})
	require.EqualError(t, err, "launch Visit: the kernel uses warp operations, so a block must be a multiple of 8 threads, not 12")
	v.p.Close()
	v.p.img.WarpOps = false
	require.ErrorIs(t, v.run(), ErrClosed)
}

// Code for VNNI is entered where the processor has it.
func TestVNNI(t *testing.T) {
	for _, vnni := range []bool{false, true} {
		plain := image.Image{Rows: 1, General: 2}
		choose(&plain, vnni, vnni, vnni)
		require.Equal(t, image.Image{Rows: 1, General: 2}, plain)
	}
	both := image.Image{Rows: 1, General: image.None, VNNI: &image.Entries{Rows: 3, General: image.None}}
	choose(&both, false, true, true)
	require.Equal(t, [2]int{1, image.None}, [2]int{both.Rows, both.General})
	choose(&both, true, true, true)
	require.Equal(t, [2]int{3, image.None}, [2]int{both.Rows, both.General})
	both.Pairs, both.Tiles = &image.Entries{Rows: 5, General: image.None}, &image.Entries{Rows: 7, General: image.None}
	for i, want := range []int{3, 5, 7} {
		choose(&both, true, i > 0, i > 1)
		require.Equal(t, want, both.Rows)
	}
}

// The mapping by rows serves unless a second one was compiled and rows are no whole
// warps; the general one has a table.
func TestMappings(t *testing.T) {
	out := words(t, 4+3*1024/2)
	args := binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&out[0]))))
	both := image.Image{Kernel: "Both", Rows: 0, General: 0, FrameSize: 128, Barriers: true, Shared: 100, Args: 8, Code: tableCode}
	rows := both
	rows.Kernel, rows.General, rows.Barriers = "Rows", image.None, false
	var pool Pool
	for _, c := range []struct {
		img     image.Image
		block   [3]int
		vectors int
		table   bool
	}{
		{both, [3]int{256, 1, 1}, 32, false},
		{both, [3]int{13, 1, 1}, 2, false},
		{both, [3]int{16, 3, 2}, 12, false},
		{both, [3]int{13, 3, 2}, 10, true},
		{both, [3]int{4, 8, 16}, 64, true},
		{both, [3]int{13, 3, 2}, 10, true},
		{rows, [3]int{13, 3, 2}, 12, false},
	} {
		clear(out)
		p := load(t, &pool, c.img)
		require.NoError(t, p.Run(interp.Launch{Grid: [3]int{1}, Block: c.block, Args: args}))
		require.EqualValues(t, c.vectors, out[0])
		shared, frames := out[1], out[2]
		require.Zero(t, shared%64)
		require.Zero(t, frames%64)
		require.GreaterOrEqual(t, frames-shared, int64(100))
		end := int64(uintptr(unsafe.Pointer(pool.idle[0].ctx))) + int64(len(pool.idle[0].mem))
		need := int64(128)
		if c.img.Barriers {
			need *= int64(c.vectors)
		}
		require.LessOrEqual(t, frames+need, end)
		table := unsafe.Slice((*int32)(unsafe.Pointer(&out[3])), 3*8*c.vectors)
		if !c.table {
			require.Zero(t, table[1])
			continue
		}
		n := 8 * c.vectors
		for i := range c.block[0] * c.block[1] * c.block[2] {
			got := [3]int32{table[i], table[n+i], table[2*n+i]}
			require.Equal(t, [3]int32{int32(i % c.block[0]), int32(i / c.block[0] % c.block[1]), int32(i / c.block[0] / c.block[1])}, got)
		}
	}
	require.Len(t, pool.idle, 1)
	pool.Trim()
	require.Empty(t, pool.idle)
}

// Faults of the general mapping name a thread by its number.
func TestFaultOfGeneralMapping(t *testing.T) {
	v := newVisits(t, new(Pool), [3]int{2, 1, 1})
	v.p.img.General = 0
	v.spins[1] = -9
	err := v.p.Run(interp.Launch{Grid: v.grid, Block: [3]int{5, 3, 2}, Args: v.args})
	require.EqualError(t, err, "visit7.go:12: kernel Visit: block (1,0,0), thread (4,0,1): index out of range [-9]") // 16+3
}

func TestHugeFrames(t *testing.T) {
	out := words(t, 4)
	args := binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&out[0]))))
	var pool Pool
	p := load(t, &pool, image.Image{Kernel: "Huge", General: image.None, FrameSize: 1 << 21, Barriers: true, Args: 8, Code: tableCode})
	require.NoError(t, p.Run(interp.Launch{Grid: [3]int{1}, Block: [3]int{256}, Args: args}))
	require.EqualValues(t, 32, out[0])
	require.Empty(t, pool.idle[0].mem, "64 MiB are not kept")
	p.img.FrameSize = 1 << 58
	require.ErrorContains(t, p.Run(interp.Launch{Grid: [3]int{1}, Block: [3]int{8}, Args: args}), "launch Huge")
}

// Many goroutines launch at once, while programs are closed and the collector runs.
func TestManyLaunchesAndCloses(t *testing.T) {
	processors(t, 4)
	var pool Pool
	defer pool.Trim()
	var wg sync.WaitGroup
	for g := range 16 {
		v := newVisits(t, &pool, [3]int{1 + g*37, 1, 1})
		for i := range v.spins {
			v.spins[i] = int64(i*g) % 3000
		}
		wg.Go(func() {
			for i := range 40 {
				if err := v.run(); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					runtime.GC()
				}
			}
			v.check(t, 40)
		})
		wg.Go(func() { // closes a program that runs
			w := newVisits(t, &pool, [3]int{500, 1, 1})
			for i := range w.spins {
				w.spins[i] = 5000
			}
			done := make(chan error)
			go func() {
				for {
					if err := w.run(); err != nil {
						done <- err
						return
					}
				}
			}()
			time.Sleep(time.Duration(g) * time.Millisecond)
			w.p.Close()
			if err := <-done; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			w.check(t, w.seen[0])
		})
	}
	wg.Wait()
}

func TestRunDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, blocks := range []int{1, 1000} {
		v := newVisits(t, new(Pool), [3]int{blocks, 1, 1})
		for i := range v.spins {
			v.spins[i] = 300
		}
		require.NoError(t, v.run())
		require.Less(t, testing.AllocsPerRun(100, func() { _ = v.run() }), 0.5)
	}
}

func TestExpect(t *testing.T) {
	v := newVisits(t, new(Pool), [3]int{10, 1, 1})
	require.Zero(t, v.p.Expect(v.grid))
	for i := range v.spins {
		v.spins[i] = 1_000_000
	}
	require.NoError(t, v.run())
	require.Greater(t, v.p.Expect(v.grid), time.Millisecond)
	require.Equal(t, 100*v.p.Expect([3]int{1}), v.p.Expect([3]int{10, 10, 0}))
}

func TestLevels(t *testing.T) {
	arch, ok := Arch()
	if !ok {
		t.Skip(Has(ArchAVX2))
	}
	require.NoError(t, Has(ArchAVX2))
	require.NoError(t, Has(arch))
	require.Equal(t, 8, WarpSize(ArchAVX2))
	require.Equal(t, 16, WarpSize(ArchAVX512))
	_, err := Load(new(Pool), []byte("nonsense"), nil)
	require.ErrorContains(t, err, "not native code")
}

func BenchmarkRunOneBlock(b *testing.B) {
	v := newVisits(b, new(Pool), [3]int{1, 1, 1})
	b.ReportAllocs()
	for b.Loop() {
		if err := v.run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSpread has blocks of some work, which is shared.
func BenchmarkSpread(b *testing.B) {
	for _, c := range []struct {
		name         string
		blocks, spin int
	}{{"64x1us", 64, 2000}, {"1000000x5ns", 1_000_000, 0}, {"8x10us", 8, 20_000}} {
		b.Run(c.name, func(b *testing.B) {
			v := newVisits(b, new(Pool), [3]int{c.blocks, 1, 1})
			for i := range v.spins {
				v.spins[i] = int64(c.spin)
			}
			for b.Loop() {
				if err := v.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
