// Package pretend lets tests have operations divide their work as for another device, for example
// among blocks of several warps on a CPU, which has none by itself.
package pretend

import "github.com/gokiln/kiln/runtime"

var change func(*runtime.Info)

// Info is what a device is taken for where work is divided.
func Info(d *runtime.Device) runtime.Info {
	if change != nil {
		return changed(d.Info())
	}
	return d.Info()
}

// changed is apart, so that Info allocates nothing.
func changed(info runtime.Info) runtime.Info {
	change(&info)
	return info
}

// Be has devices taken for such with other numbers, until the function that it returns is called.
func Be(f func(*runtime.Info)) (end func()) {
	change = f
	return func() { change = nil }
}

// TensorMap is [runtime.Device.EncodeTensorMap], and where devices are taken for others a map of
// nothing: their kernels are compiled and not run.
func TensorMap(d *runtime.Device, m runtime.TensorMap) ([16]uint64, error) {
	if change != nil {
		return [16]uint64{}, nil
	}
	return d.EncodeTensorMap(m)
}
