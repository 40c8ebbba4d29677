package ops

import (
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

// SerialBlocks reports whether a multiprocessor holds one warp at a time, so that its blocks run
// one after the other and threads are lanes of a vector, as those of a CPU do.
func SerialBlocks(info *runtime.Info) bool { return info.ThreadsPerUnit <= info.WarpSize }

// RowBlocks bounds the blocks of a kernel that reduces or sorts rows; each takes several rows if
// there are more.
func RowBlocks(info *runtime.Info, threads int) int {
	if SerialBlocks(info) {
		return 4 * info.Units
	}
	return 16 * ResidentBlocks(info, threads)
}
