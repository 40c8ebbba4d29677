package interp

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gridKernel has blocks wait for each other, in which those below n take part.
const gridKernel = `module "g"

kernel @G(%out: ptr<global,i64>, %len: i64, %n: i64) args(out slice i64 "[]int64", n scalar i64 "int64") {
b0:
  %b = block 0 : i64
  %one = const 1 : i64
  %last = griddim 0 : i64
  %m = sub %last, %one : i64
  %p = offset %out, %b : ptr<global,i64>
  store %p, %b
  %c = lt %b, %n : bool
  br %c, b1, b2
b1:
  gridbarrier
  %next = sub %m, %b : i64
  %q = offset %out, %next : ptr<global,i64>
  %v = load %q : i64
  gridbarrier
  store %p, %v
  ret
b2:
  ret
}
`

func runGridKernel(ctx context.Context, t *testing.T, text string, blocks, n int) ([]int64, error) {
	t.Helper()
	out := make([]int64, max(blocks, 1))
	err := load(t, text).Run(Launch{Grid: [3]int{blocks}, Block: [3]int{1}, Args: pack(out, n), Ctx: ctx})
	runtime.KeepAlive(out)
	return out, err
}

func TestGridBarrier(t *testing.T) {
	for _, blocks := range []int{1, 2, 3, 100, MaxResident} {
		out, err := runGridKernel(context.Background(), t, gridKernel, blocks, blocks)
		require.NoError(t, err)
		for b, v := range out {
			require.Equal(t, int64(blocks-1-b), v)
		}
	}
	_, err := runGridKernel(context.Background(), t, gridKernel, MaxResident+1, MaxResident+1)
	require.ErrorContains(t, err, "launch G: grid of 1025 blocks: the kernel waits for its whole grid (t.SyncGrid), and 1024 blocks of 1 threads can be resident")
}

// TestGridBarrierMissed has blocks that return while others wait, in every order.
func TestGridBarrierMissed(t *testing.T) {
	for range 20 {
		_, err := runGridKernel(context.Background(), t, gridKernel, 5, 4)
		var e *KernelError
		require.ErrorAs(t, err, &e)
		require.Regexp(t, `barrier of the grid reached by a part of the blocks: block \[4 0 0\] has returned without it`, e.Msg)
		require.Less(t, e.Block[0], 4)
	}
}

// TestGridBarrierEnds has a context end blocks that wait for one which never comes.
func TestGridBarrierEnds(t *testing.T) {
	const endless = `module "g"

kernel @G(%out: ptr<global,i64>, %len: i64, %n: i64) args(out slice i64 "[]int64", n scalar i64 "int64") {
b0:
  %b = block 0 : i64
  %c = lt %b, %n : bool
  br %c, b1, b2
b1:
  gridbarrier
  ret
b2:
  %v = atomic.load %out : i64
  %d = lt %v, %n : bool
  br %d, b2, b3
b3:
  ret
}
`
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Millisecond, errors.New("over now"))
	defer cancel()
	_, err := runGridKernel(ctx, t, endless, 3, 1)
	require.ErrorContains(t, err, "over now")
}

// TestGridBarrierAfterFailure has a block fail while ones before it wait: its error is that of the launch.
func TestGridBarrierAfterFailure(t *testing.T) {
	const failing = `module "g"

kernel @G(%out: ptr<global,i64>, %len: i64, %n: i64) args(out slice i64 "[]int64", n scalar i64 "int64") {
b0:
  %b = block 0 : i64
  %c = lt %b, %n : bool
  br %c, b1, b2
b1:
  gridbarrier
  ret
b2:
  bounds %b, %n
  ret
}
`
	for range 20 {
		_, err := runGridKernel(context.Background(), t, failing, 3, 2)
		require.ErrorContains(t, err, "index out of range [2] with length 2")
	}
}
