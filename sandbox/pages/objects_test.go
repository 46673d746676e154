package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// object is one that can be copied from a page, or is a sample.
type object struct {
	file string
	unstructured.Unstructured
}

func (o object) String() string { return filepath.Base(o.file) + " " + o.GetKind() + " " + o.GetName() }

var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// texts are the pages about switches.
func texts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/power/*.md")
	if err != nil || len(files) < 4 {
		t.Fatalf("there are %d pages: %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../docs/power.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

// objects are all that can be copied from the pages, and the samples of slots that are worked by power.
func objects(t *testing.T) []object {
	t.Helper()
	var all []object
	for file, text := range texts(t) {
		for _, found := range block.FindAllStringSubmatch(text, -1) {
			all = append(all, parse(t, file, found[1])...)
		}
	}
	samples, err := filepath.Glob("../../config/samples/slot-power-*.yaml")
	if err != nil || len(samples) < 4 {
		t.Fatalf("there are %d samples: %v", len(samples), err)
	}
	for _, file := range samples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(t, file, string(text))...)
	}
	return all
}

func parse(t *testing.T, file, text string) []object {
	t.Helper()
	var all []object
	for _, document := range strings.Split(text, "\n---\n") {
		o := object{file: file}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil || o.GetKind() == "" {
			t.Fatalf("%s has an object that is none: %v\n%s", file, err, document)
		}
		all = append(all, o)
	}
	return all
}

// secrets are the keys of the Secrets that a page tells to make, by the Secret's name.
func secrets(t *testing.T, all []object) map[string][]string {
	t.Helper()
	keys := map[string][]string{}
	for _, o := range all {
		if o.GetKind() != "Secret" {
			continue
		}
		var secret corev1.Secret
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &secret); err != nil {
			t.Fatalf("%s: %v", o, err)
		}
		for key := range secret.StringData {
			keys[o.GetName()] = append(keys[o.GetName()], key)
		}
	}
	return keys
}

// slots are the objects that are slots.
func slots(t *testing.T, all []object) map[string]*v2.Node {
	t.Helper()
	found := map[string]*v2.Node{}
	for _, o := range all {
		if o.GetKind() != "Node" {
			continue
		}
		slot := &v2.Node{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, slot); err != nil {
			t.Fatalf("%s: %v", o, err)
		}
		found[o.String()] = slot
	}
	return found
}
