package ops

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/runtime"
)

// DeviceInfo is what launches are planned for: the properties of the device, or those of another
// one that a test pretends it to be.
func DeviceInfo(d *runtime.Device) runtime.Info { return pretend.Info(d) }

// MaxGridY is the most blocks in y or z of any device.
const MaxGridY = 32768

// gridLimit is what MaxBlocks returns; tests lower it, so that blocks do loop.
var gridLimit = MaxGridY

// MaxBlocks is the most blocks in y or z of a kernel that loops over what these do not cover.
func MaxBlocks() int { return gridLimit }

// ResidentBlocks is how many blocks of so many threads keep the device busy: twice as many as its
// multiprocessors hold at the same time.
func ResidentBlocks(info *runtime.Info, threads int) int {
	return 2 * info.Units * max(1, info.ThreadsPerUnit/threads)
}

// Traits are what strategies and plans ask of a device, beside the numbers in [runtime.Info].
type Traits struct {
	WarpBlocks       bool // blocks of one warp are best: threads are lanes of a vector
	SerialParts      bool // blocks run one after the other on a multiprocessor: few long parts are best
	BlockTiles       bool // blocks of several warps work on a tile in registers or shared memory
	VectorAccess     bool // threads load and store vectors; otherwise the lanes of a warp are a vector
	HidesLatency     bool // more loads in flight per thread hide the latency of memory
	ThreadPerElement bool // threads are cheap: one computes an element, or a patch of neighbouring ones
	FastSort         bool // to sort indices is cheaper than to go through them in order
}

// TraitsOf derives the traits of a device from its numbers. A multiprocessor that holds one warp at
// a time is a core with vector registers; others have many warps resident.
func TraitsOf(info *runtime.Info) Traits {
	oneWarp := info.ThreadsPerUnit <= info.WarpSize
	return Traits{
		WarpBlocks: oneWarp, SerialParts: oneWarp,
		BlockTiles: !oneWarp, VectorAccess: !oneWarp, HidesLatency: !oneWarp, ThreadPerElement: !oneWarp, FastSort: !oneWarp,
	}
}

// RowBlocks bounds the blocks of a kernel that reduces or sorts rows; each takes several rows if
// there are more.
func RowBlocks(info *runtime.Info, threads int) int {
	if TraitsOf(info).SerialParts {
		return 4 * info.Units
	}
	return 16 * ResidentBlocks(info, threads)
}

// TensorMap makes the tensor map that stands for m in the arguments of a launch. A device without bulk
// copies of tensors returns [errors.ErrUnsupported].
func TensorMap(d *runtime.Device, m runtime.TensorMap) (dsl.TensorMap, error) {
	words, err := pretend.TensorMap(d, m)
	return words, err
}
