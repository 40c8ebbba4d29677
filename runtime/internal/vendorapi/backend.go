package vendorapi

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Backend finds the GPUs of a vendor. The library is opened at first use.
type Backend struct {
	Vendor Vendor
	Names  []string // of the library; nil for those of the vendor

	mu    sync.Mutex
	tried []string
	lib   *Library
	err   error
}

// Kind is that of the vendor's devices.
func (b *Backend) Kind() string { return b.Vendor.Traits().Kind }

// looked lists the names to try.
func (b *Backend) looked() []string {
	if b.Names != nil {
		return b.Names
	}
	return b.Vendor.Looked()
}

// Library opens the library once. A failure is final as long as the same names are looked for.
func (b *Backend) Library() (*Library, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names := b.looked(); b.lib == nil && (b.err == nil || !slices.Equal(names, b.tried)) {
		b.tried = names
		b.lib, b.err = OpenLibrary(b.Vendor, names)
	}
	return b.lib, b.err
}

// Probe looks for the library and asks it for its devices.
func (b *Backend) Probe() driver.Report {
	r := driver.Report{Kind: b.Kind(), Looked: b.looked()}
	l, err := b.Library()
	if err != nil {
		r.Err = err
		return r
	}
	r.Looked, r.Library, r.Driver = l.Looked, l.Name, l.Driver
	n, err := l.count()
	for i := 0; i < n && err == nil; i++ {
		var info driver.Info
		if _, info, _, err = l.Device(i); err == nil {
			r.Devices = append(r.Devices, info)
		}
	}
	if err == nil && n == 0 {
		err = l.traits.noDevice("the " + l.traits.Program + " " + l.Name + " sees none")
	}
	r.Err = err
	return r
}

// Open opens a GPU.
func (b *Backend) Open(ordinal int) (driver.Device, error) {
	l, err := b.Library()
	if err != nil {
		return nil, err
	}
	n, err := l.count()
	if err != nil {
		return nil, err
	}
	if ordinal >= n {
		return nil, &driver.Error{Op: fmt.Sprintf("open %s:%d", b.Kind(), ordinal), Kind: driver.ErrNoDevice,
			Text: fmt.Sprintf("number of devices that the %s sees: %d", l.traits.Program, n)}
	}
	return openDevice(l, ordinal)
}
