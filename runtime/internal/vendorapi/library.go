package vendorapi

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Library is an open and initialised library of a vendor.
type Library struct {
	Functions
	Name    string
	Looked  []string // names that were tried
	Version int      // in the vendor's form
	Driver  string   // versions, for people and for keys; the vendor writes it

	vendor Vendor
	traits *Traits
}

// OpenLibrary opens the first of the names that there is.
func OpenLibrary(v Vendor, names []string) (*Library, error) {
	t := v.Traits()
	if len(names) == 0 {
		return nil, t.noDevice("there is no " + t.Platform + " for " + goruntime.GOOS)
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, t.noDevice(OneLine(err))
	}
	l := &Library{Name: lib.Name(), Looked: names, vendor: v, traits: t}
	program := "the " + t.API + " " + t.Program
	if err := Resolve(lib, program, v.Entries(&l.Functions)); err != nil {
		return nil, t.noDevice(OneLine(err))
	}
	if r := Call(l.Init, 0); r != Success {
		e := l.Failure("start "+program+" "+l.Name, "", r)
		e.Kind = driver.ErrNoDevice
		return nil, e
	}
	version := new(int32)
	if err := l.Error("ask for the version of "+program, "", Call(l.Functions.Version, uintptr(unsafe.Pointer(version)))); err != nil {
		return nil, err
	}
	l.Version = int(*version)
	if err := v.Start(l); err != nil {
		return nil, err
	}
	return l, nil
}

// noDevice is the error of a machine without the library or without devices.
func (t *Traits) noDevice(text string) error {
	return &driver.Error{Op: "no " + t.Platform + " device", Kind: driver.ErrNoDevice, Text: text}
}

// OneLine is the text of an error of several lines.
func OneLine(err error) string { return strings.Join(strings.Split(err.Error(), "\n"), "; ") }

// count returns the number of devices. Where there are none, that may be an error.
func (l *Library) count() (int, error) {
	n := new(int32)
	r := Call(l.DeviceCount, uintptr(unsafe.Pointer(n)))
	if r == NoDevice {
		return 0, nil
	}
	return int(*n), l.Error("count "+l.traits.Platform+" devices", "", r)
}

// Device returns the handle and the properties of a device, and the full name of its
// architecture.
func (l *Library) Device(ordinal int) (handle uintptr, info driver.Info, target string, err error) {
	t := l.traits
	info = driver.Info{Name: fmt.Sprintf("%s:%d", t.Kind, ordinal), Kind: t.Kind, Vendor: t.Vendor, Driver: l.Driver}
	dev, name, total := new(int32), make([]byte, 256), new(uint64)
	if err = l.Error("open", info.Name, Call(l.DeviceGet, uintptr(unsafe.Pointer(dev)), uintptr(ordinal))); err != nil {
		return 0, info, "", err
	}
	handle = uintptr(*dev)
	if err = l.Error("ask for the name", info.Name, Call(l.DeviceName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), handle)); err != nil {
		return 0, info, "", err
	}
	info.Model, _, _ = strings.Cut(string(name), "\x00")
	if err = l.Error("ask for the memory", info.Name, Call(l.DeviceTotalMem, uintptr(unsafe.Pointer(total)), handle)); err != nil {
		return 0, info, "", err
	}
	info.MemTotal = int64(*total)
	if err = l.describe(handle, &info); err != nil {
		return 0, info, "", err
	}
	target, err = l.vendor.Describe(handle, &info)
	return handle, info, target, err
}

// describe fills in what both vendors answer one number at a time.
func (l *Library) describe(dev uintptr, info *driver.Info) error {
	var bus, slot, domain, pools, cooperative int
	a := &l.traits.Attributes
	err := l.Ask(dev, info.Name,
		Attribute{a.MaxThreadsPerBlock, &info.MaxThreads},
		Attribute{a.MaxBlockX, &info.MaxBlock[0]}, Attribute{a.MaxBlockX + 1, &info.MaxBlock[1]}, Attribute{a.MaxBlockX + 2, &info.MaxBlock[2]},
		Attribute{a.MaxGridX, &info.MaxGrid[0]}, Attribute{a.MaxGridX + 1, &info.MaxGrid[1]}, Attribute{a.MaxGridX + 2, &info.MaxGrid[2]},
		Attribute{a.SharedPerBlock, &info.SharedPerBlock}, Attribute{a.WarpSize, &info.WarpSize}, Attribute{a.Multiprocessors, &info.Units},
		Attribute{a.ThreadsPerUnit, &info.ThreadsPerUnit}, Attribute{a.RegistersPerUnit, &info.RegistersPerUnit},
		Attribute{a.ClockRate, &info.ClockKHz}, Attribute{a.MemoryClockRate, &info.MemClockKHz}, Attribute{a.MemoryBusWidth, &info.MemBusBits},
		Attribute{a.L2CacheSize, &info.L2}, Attribute{a.PCIDomain, &domain}, Attribute{a.PCIBus, &bus}, Attribute{a.PCIDevice, &slot},
		Attribute{a.MemoryPools, &pools}, Attribute{a.CooperativeLaunch, &cooperative})
	info.PCI = fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, slot)
	info.MemoryPool = pools != 0 && l.Pools()
	info.GridBarriers = cooperative != 0 && l.Resident != 0
	return err
}

// Attribute is one of a device or a kernel, and where to put it.
type Attribute struct {
	ID uintptr
	To *int
}

// Ask asks for attributes of a device. One that the library is too old for stays as it is.
func (l *Library) Ask(dev uintptr, device string, list ...Attribute) error {
	v := new(int32)
	for _, a := range list {
		*v = 0
		r := Call(l.DeviceAttribute, uintptr(unsafe.Pointer(v)), a.ID, dev)
		if r == InvalidValue {
			continue
		}
		if err := l.Error(fmt.Sprintf("ask for attribute %d", a.ID), device, r); err != nil {
			return err
		}
		*a.To = int(*v)
	}
	return nil
}
