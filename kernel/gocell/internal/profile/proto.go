package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
)

// pprof's files are a message of protocol buffers, compressed. Of its fields (in
// proto/profile.proto of github.com/google/pprof) these are read and written.
const (
	profileSampleType, profileSample, profileLocation, profileFunction, profileStrings = 1, 2, 4, 5, 6
	profileDuration, profilePeriodType, profilePeriod                                  = 10, 11, 12
	valueType, valueUnit                                                               = 1, 2
	sampleLocation, sampleValue, sampleLabel                                           = 1, 2, 3
	labelKey, labelText                                                                = 1, 2
	locationID, locationLine                                                           = 1, 4
	lineFunction, lineNumber                                                           = 1, 2
	functionID, functionName, functionSystemName, functionFile                         = 1, 2, 3, 4
)

var errFormat = errors.New("the run time's profile has another form than expected")

// fields calls f for each field of a message: with a number, or with the bytes of a
// text, an inner message or packed numbers.
func fields(b []byte, f func(field int, n uint64, data []byte)) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return errFormat
		}
		b = b[n:]
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errFormat
		}
		b = b[n:]
		switch key & 7 {
		case 0:
			f(int(key>>3), v, nil)
		case 2:
			if v > uint64(len(b)) {
				return errFormat
			}
			f(int(key>>3), 0, b[:v:v])
			b = b[v:]
		default:
			return errFormat
		}
	}
	return nil
}

// numbers adds one number, or packed ones, to a list.
func numbers(list []uint64, n uint64, data []byte) []uint64 {
	if data == nil {
		return append(list, n)
	}
	for len(data) > 0 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return list
		}
		list, data = append(list, v), data[n:]
	}
	return list
}

// A RawSample is a sample of Go's run time.
type RawSample struct {
	Stack  []Frame // the innermost first
	Nanos  int64   // of the processor's time
	Labels map[string]string
}

// A reader holds the parts of a profile that samples refer to.
type reader struct {
	text      []string
	functions map[uint64][2]uint64   // texts: name and file
	locations map[uint64][][2]uint64 // lines: function and number
	samples   [][]byte
}

// Decode returns the samples of a CPU profile that runtime/pprof has written.
func Decode(file []byte) ([]RawSample, error) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	r := reader{functions: map[uint64][2]uint64{}, locations: map[uint64][][2]uint64{}}
	err = fields(b, func(field int, _ uint64, data []byte) {
		switch field {
		case profileSample:
			r.samples = append(r.samples, data)
		case profileStrings:
			r.text = append(r.text, string(data))
		case profileFunction:
			id, fn := uint64(0), [2]uint64{}
			pick(data, map[int]*uint64{functionID: &id, functionName: &fn[0], functionFile: &fn[1]})
			r.functions[id] = fn
		case profileLocation:
			id := uint64(0)
			pick(data, map[int]*uint64{locationID: &id})
			_ = fields(data, func(field int, _ uint64, data []byte) {
				if field == locationLine {
					line := [2]uint64{}
					pick(data, map[int]*uint64{lineFunction: &line[0], lineNumber: &line[1]})
					r.locations[id] = append(r.locations[id], line)
				}
			})
		}
	})
	var list []RawSample
	for _, data := range r.samples {
		s, serr := r.sample(data)
		if err = errors.Join(err, serr); err != nil {
			break
		}
		list = append(list, s)
	}
	return list, err
}

// pick sets the numbers of a message's fields.
func pick(data []byte, numbers map[int]*uint64) {
	_ = fields(data, func(field int, n uint64, _ []byte) {
		if p := numbers[field]; p != nil {
			*p = n
		}
	})
}

func (r *reader) str(i uint64) string {
	if i < uint64(len(r.text)) {
		return r.text[i]
	}
	return ""
}

func (r *reader) sample(data []byte) (RawSample, error) {
	s := RawSample{Labels: map[string]string{}}
	var at, values []uint64
	err := fields(data, func(field int, n uint64, data []byte) {
		switch field {
		case sampleLocation:
			at = numbers(at, n, data)
		case sampleValue:
			values = numbers(values, n, data)
		case sampleLabel:
			var key, value uint64
			pick(data, map[int]*uint64{labelKey: &key, labelText: &value})
			s.Labels[r.str(key)] = r.str(value)
		}
	})
	if err != nil || len(values) != 2 {
		return s, errFormat
	}
	s.Nanos = int64(values[1])
	for _, id := range at {
		for _, l := range r.locations[id] {
			fn := r.functions[l[0]]
			s.Stack = append(s.Stack, Frame{Function: r.str(fn[0]), File: r.str(fn[1]), Line: int(l[1])})
		}
	}
	return s, nil
}

// A message is a message that is written.
type message []byte

func (m *message) number(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

// Encode returns the profile as a file for go tool pprof.
func (p *Profile) Encode() []byte {
	var m message
	index, text := map[string]uint64{"": 0}, []string{""}
	str := func(s string) uint64 {
		i, ok := index[s]
		if !ok {
			i = uint64(len(text))
			index[s], text = i, append(text, s)
		}
		return i
	}
	kind := func(name, unit string) []byte {
		var t message
		t.number(valueType, str(name))
		t.number(valueUnit, str(unit))
		return t
	}
	m.bytes(profileSampleType, kind("samples", "count"))
	m.bytes(profileSampleType, kind("cpu", "nanoseconds"))
	functions, locations := map[Frame]uint64{}, map[Frame]uint64{}
	function := func(f Frame) uint64 {
		f.Line = 0
		id, ok := functions[f]
		if !ok {
			id = uint64(len(functions) + 1)
			functions[f] = id
			var fn message
			fn.number(functionID, id)
			fn.number(functionName, str(f.Function))
			fn.number(functionSystemName, str(f.Function))
			fn.number(functionFile, str(f.File))
			m.bytes(profileFunction, fn)
		}
		return id
	}
	location := func(f Frame) uint64 {
		id, ok := locations[f]
		if !ok {
			id = uint64(len(locations) + 1)
			locations[f] = id
			var l, line message
			line.number(lineFunction, function(f))
			line.number(lineNumber, uint64(f.Line))
			l.number(locationID, id)
			l.bytes(locationLine, line)
			m.bytes(profileLocation, l)
		}
		return id
	}
	for _, s := range p.Samples {
		var sample, at, values message
		for i := len(s.Stack) - 1; i >= 0; i-- {
			at = binary.AppendUvarint(at, location(s.Stack[i]))
		}
		values = binary.AppendUvarint(values, uint64(s.Nanos/Period))
		values = binary.AppendUvarint(values, uint64(s.Nanos))
		sample.bytes(sampleLocation, at)
		sample.bytes(sampleValue, values)
		m.bytes(profileSample, sample)
	}
	m.number(profileDuration, uint64(p.Wall))
	m.bytes(profilePeriodType, kind("cpu", "nanoseconds"))
	m.number(profilePeriod, Period)
	for _, s := range text {
		m.bytes(profileStrings, []byte(s))
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(m)
	_ = z.Close()
	return out.Bytes()
}
