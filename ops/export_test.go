package ops

import "github.com/gokiln/kiln/runtime"

// Pretend has work divided among blocks as for a device with such numbers, until the
// function that it returns is called.
func Pretend(change func(*runtime.Info)) (end func()) {
	infoOf = func(d *runtime.Device) runtime.Info {
		info := d.Info()
		change(&info)
		return info
	}
	return func() { infoOf = (*runtime.Device).Info }
}

// LimitBlocks makes the grids of kernels that loop over rows, products or images at most so many
// blocks high and deep, until the function that it returns is called.
func LimitBlocks(n int) (end func()) {
	mostBlocks = n
	return func() { mostBlocks = maxBlocksY }
}
