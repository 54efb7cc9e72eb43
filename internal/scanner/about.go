package scanner

import "path"

// bundleAbout is what the main file says of the bundle: it is asked for at every file
// and match, so it is read once.
type bundleAbout struct {
	text     string // the beginning of the main file
	purpose  string
	startUp  bool // see statedStartUp
	security bool // see teachesSecurity
}

// maxAboutText is how much of the main file is searched for each other file's name.
const maxAboutText = 1 << 20

func aboutOf(b *Bundle) *bundleAbout {
	b.aboutOnce.Do(func() {
		front := frontMatterOf(b)
		b.about.purpose = front.text("name") + " " + front.text("description") + " " + front.text("title") + " " + front.text("summary")
		b.about.startUp = startUpPurpose.MatchString(b.about.purpose)
		main, ok := b.MainFile()
		if !ok {
			return
		}
		text, err := main.readText()
		if err != nil {
			return // every layer that reads the file reports that
		}
		b.about.text = text[:min(len(text), maxAboutText)]
		b.about.security = path.Base(main.Path) == "COURSE.md" && securitySubject.MatchString(b.about.purpose) || denseInDiscussion(text[:min(len(text), maxPassage)])
	})
	return &b.about
}
