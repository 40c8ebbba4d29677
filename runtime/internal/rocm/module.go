package rocm

import (
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// check refuses images that are not code for this device.
func (l *library) check(d *vendorapi.Device, img driver.Image) error {
	text := ""
	switch {
	case img.Format != "hip" && img.Format != "hsaco":
		text = "an AMD GPU runs code of format hsaco or hip, not " + img.Format
	case len(img.Code) == 0:
		text = "the image is empty"
	case img.Format == "hip" && l.rtc == nil:
		text = "HIP text needs the compiler hipRTC, which was not found: " + vendorapi.OneLine(l.rtcErr)
	case img.Format == "hsaco" && !isObject(img.Code):
		// HIP takes no length: what is no ELF file would be read to who knows where.
		text = "the image is not a code object: it does not begin as an ELF file or a bundle"
	default:
		return nil
	}
	return &driver.Error{Op: "load kernel " + img.Name, Device: d.Info().Name, Kind: driver.ErrBadImage, Text: text}
}

// isObject reports whether code is an ELF file, or several in a bundle of clang's.
func isObject(code []byte) bool {
	const elf, bundle, compressed = "\x7fELF", "__CLANG_OFFLOAD_BUNDLE__", "CCOB"
	for _, magic := range []string{elf, bundle, compressed} {
		if len(code) >= 64 && string(code[:len(magic)]) == magic {
			return true
		}
	}
	return false
}

// Load loads a code object, or compiles HIP text and loads that.
func (l *library) Load(d *vendorapi.Device, img driver.Image) (uintptr, error) {
	final, _, err := l.finalize("load kernel "+img.Name, d, img)
	if err != nil {
		return 0, err
	}
	h := new(uintptr)
	err = d.Do("load kernel "+img.Name, l.hipModuleLoad, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&final.Code[0])))
	return *h, err
}

// Finalize compiles HIP text to a code object with hipRTC.
func (l *library) Finalize(d *vendorapi.Device, img driver.Image) (driver.Image, string, error) {
	return l.finalize("compile kernel "+img.Name, d, img)
}

func (l *library) finalize(op string, d *vendorapi.Device, img driver.Image) (driver.Image, string, error) {
	if err := l.check(d, img); err != nil {
		return driver.Image{}, "", err
	}
	if img.Format == "hsaco" {
		return img, "", nil
	}
	code, log, err := l.rtc.compile(op, d.Info().Name, d.Target, img)
	if err != nil {
		return driver.Image{}, log, err
	}
	img.Format, img.Code = "hsaco", code
	return img, log, nil
}
