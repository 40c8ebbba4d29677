package metal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Binary archives hold what Metal compiles of a library for one GPU and one system.
// Metal needs the library besides, to find a kernel in the archive, so a finalised
// image is both: the text and the archive of all its kernels. Where an archive is of
// no use, after all, the kernel is compiled as if there were none.

const (
	formatText    = "msl"
	formatLibrary = "metallib" // what Apple's tools make of the text; the GPU's code is made as it is loaded
	formatArchive = "mtlarchive"
)

// failOnMiss has Metal report that an archive lacks a kernel, instead of compiling it
// (MTLPipelineOptionFailOnBinaryArchiveMiss).
const failOnMiss = 1 << 2

const archiveMagic = "kiln mtlarchive 1\n"

// pack makes the code of an image.
func pack(text string, archive []byte) []byte {
	b := fmt.Appendf(nil, "%s%d %d\n%s", archiveMagic, len(text), len(archive), text)
	return append(b, archive...)
}

// unpack is the reverse; ok says that nothing is missing.
func unpack(code []byte) (text string, archive []byte, ok bool) {
	rest, ok := bytes.CutPrefix(code, []byte(archiveMagic))
	head, rest, found := bytes.Cut(rest, []byte("\n"))
	var n, m int
	if _, err := fmt.Sscanf(string(head), "%d %d", &n, &m); err != nil || !ok || !found || n < 0 || m < 0 || n > len(rest) || m != len(rest)-n {
		return "", nil, false
	}
	return string(rest[:n]), rest[n:], true
}

// FinalKey is what an archive depends on: the GPU and the system.
func (d *device) FinalKey() string { return d.info.Model + ", " + d.info.Driver }

// Finalize compiles the kernels of a text to machine code. If that comes to nothing,
// because there is no room for files for example, the image stays as it is.
func (d *device) Finalize(img driver.Image) (driver.Image, string, error) {
	if img.Format != formatText || len(img.Code) == 0 {
		return img, "", nil // what it is, Load will say
	}
	defer d.lib.pool()()
	text := string(img.Code)
	library, err := d.compile("load kernel "+img.Name, text)
	if err != nil {
		return driver.Image{}, "", err
	}
	archive, err := d.archive(library)
	d.keepCompiled(text, library)
	if err != nil {
		return img, "no archive: " + err.Error(), nil
	}
	img.Format, img.Code = formatArchive, pack(text, archive)
	return img, "", nil
}

// keepCompiled keeps a library for the load that follows, in the place of the one that
// was kept before.
func (d *device) keepCompiled(text string, library uintptr) {
	d.mu.Lock()
	before := d.compiled.handle
	d.compiled.text, d.compiled.handle = text, library
	d.mu.Unlock()
	d.disown(before)
}

// takeCompiled returns the library that was kept if it is that of a text, else 0.
func (d *device) takeCompiled(text string) uintptr {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.compiled.handle
	if h == 0 || d.compiled.text != text {
		return 0
	}
	d.compiled.text, d.compiled.handle = "", 0
	return h
}

// archive makes the archive of all kernels of a library, with a pool in place.
func (d *device) archive(library uintptr) ([]byte, error) {
	l := d.lib
	failure := new(uintptr)
	archive := d.newArchive(0, failure)
	if archive == 0 {
		return nil, l.failed("newBinaryArchive", *failure)
	}
	defer l.send(archive, l.release)
	names := l.send(library, l.functionNames)
	for i := range l.send(names, l.count) {
		f := l.send(library, l.newFunction, l.send(names, l.objectAt, i))
		ok := d.described(f, 0, func(descriptor uintptr) uintptr {
			return l.send(archive, l.addFunctions, descriptor, uintptr(unsafe.Pointer(failure))) & 0xff
		})
		l.send(f, l.release)
		if ok == 0 {
			return nil, l.failed("addComputePipelineFunctions", *failure)
		}
	}
	dir, err := os.MkdirTemp("", "kiln-metal-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "archive")
	if l.send(archive, l.serialize, l.url(file), uintptr(unsafe.Pointer(failure)))&0xff == 0 {
		return nil, l.failed("serializeToURL", *failure)
	}
	return os.ReadFile(file)
}

// archived makes a pipeline state of the machine code in an archive, 0 if that cannot
// be, with a pool in place.
func (d *device) archived(content []byte, f uintptr) uintptr {
	l := d.lib
	state := uintptr(0)
	_ = asFile(content, func(name string) error {
		failure := new(uintptr)
		archive := d.newArchive(l.url(name), failure)
		if archive == 0 {
			return nil
		}
		defer l.send(archive, l.release)
		state = d.described(f, l.send(l.array, l.arrayWith, archive), func(descriptor uintptr) uintptr {
			return l.send(d.handle, l.newPipelineWith, descriptor, failOnMiss, 0, uintptr(unsafe.Pointer(failure)))
		})
		return nil
	})
	return state
}

// asFile calls do with the name of a file that has a content, for as long as that takes.
func asFile(content []byte, do func(name string) error) error {
	dir, err := os.MkdirTemp("", "kiln-metal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "code")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return err
	}
	return do(name)
}

// newArchive opens the archive at a URL, or makes an empty one for none.
func (d *device) newArchive(url uintptr, failure *uintptr) uintptr {
	l := d.lib
	descriptor := l.send(l.archiveDescriptor, l.new)
	defer l.send(descriptor, l.release)
	if url != 0 {
		l.send(descriptor, l.setURL, url)
	}
	return l.send(d.handle, l.newArchive, descriptor, uintptr(unsafe.Pointer(failure)))
}

// described calls do with the description of a pipeline state.
func (d *device) described(f, archives uintptr, do func(descriptor uintptr) uintptr) uintptr {
	l := d.lib
	descriptor := l.send(l.pipelineDescriptor, l.new)
	defer l.send(descriptor, l.release)
	l.send(descriptor, l.setFunction, f)
	if archives != 0 {
		l.send(descriptor, l.setArchives, archives)
	}
	return do(descriptor)
}

// url makes the NSURL of a file, which lives as long as the pool.
func (l *library) url(file string) uintptr { return l.send(l.classes.url, l.fileURL, l.string(file)) }

// failed is the error that an NSError describes.
func (l *library) failed(what string, err uintptr) error {
	return fmt.Errorf("%s: %s (%d)", what, l.text(l.send(err, l.description)), int(l.send(err, l.code)))
}
