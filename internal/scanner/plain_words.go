package scanner

import "strings"

// plainEffect is what a name stands for in the languages that plainReader follows.
type plainEffect uint32

const (
	plEnv     plainEffect = 1 << iota // the environment as a whole
	plVar                             // one variable of it, named by the next string
	plHost                            // the machine's or the user's name
	plCapture                         // clipboard, screen
	plInput
	plRead
	plWalk
	plDecode
	plGet  // a network call that fetches
	plSend // a network call that sends
	plConn // a connection or request that is filled and sent later
	plLookup
	plRun
	plEval
	plWrite
	plOpen // reads or writes, by its mode
	plDelete
	plHome
	plJoin // puts a path together
	plMail
)

// plainNames gives the effects of names: ".x" is the last part of a dotted name, "x."
// the first part, anything else the whole name. All are lower case.
var plainNames = plainTable(map[plainEffect]string{
	plEnv: `os.environ env.to_h env.to_a env.map env.each env.inspect env.select env.to_json env.collect env.vars std.env.vars .getenvironmentvariables
		processinfo.processinfo.environment vim.fn.environ`,
	plVar: `getenv os.getenv sys.getenv system.getenv os.lookupenv env.fetch env.var std.env.var .getenvironmentvariable _env env`,
	plHost: `gethostname .gethostname php_uname sys.info os.hostname hostname socket.gethostname etc.getlogin getlogin user.current .getlocalhost environment.username environment.machinename
		host.current nsusername nsfullusername getpwuid getpwnam get-computerinfo get-netipaddress vim.loop.os_gethostname vim.uv.os_gethostname env.user env.username env.computername vim.env.user whoami .localizedname`,
	plCapture: `get-clipboard .copyfromscreen clipboard.readall clipboard.gettext .getclipboarddata nspasteboard.general pbpaste`,
	plInput:   `argv args os.args commandargs stdin gets readline io.read std.env.args env.args vim.fn.input read-host arg`,
	plRead: `get-content gc cat type file.read file.binread file.readlines file.foreach io.read io.readlines io.binread file.readalltext file.readallbytes file.readalllines io.file.readalltext io.file.readallbytes
		system.io.file.readalltext system.io.file.readallbytes file_get_contents readfile file fgetcsv os.readfile os.open ioutil.readfile io.lines readlines read.csv read.csv2 read.table read_csv read_excel readrds fread readr.read_csv scan
		upload_file .upload_file fs.read fs.read_to_string std.fs.read std.fs.read_to_string files.readstring files.readallbytes files.readalllines filereader filereader.new
		vim.api.nvim_buf_get_lines api.nvim_buf_get_lines .nvim_buf_get_lines vim.fn.readfile csv.read csv.foreach yaml.load_file path.read .slurp import-csv select-string readbin readchar read_file read_text .read_text .getbufferlines`,
	plWalk: `dir.glob dir.entries dir.children find.find .rglob glob scandir recursivedirectoryiterator filepath.walk filepath.walkdir os.readdir list.files walkdir.new files.walk files.list directory.getfiles directory.enumeratefiles
		lfs.dir vim.fn.glob vim.fn.globpath vim.fs.find vim.fs.dir fs.read_dir .enumerator get-childitem gci`,
	plDecode: `convert.frombase64string system.convert.frombase64string .frombase64string base64_decode base64.decode64 base64.strict_decode64 base64.urlsafe_decode64 base64.decode decode_base64 mime.base64.decode .base64decode base64decode base64_dec
		base64.stdencoding.decodestring base64.urlencoding.decodestring base64.rawstdencoding.decodestring .unpack .unpack1 unpack pack hex2bin hex.decodestring gzinflate gzuncompress gzdecode str_rot13 strrev .reverse string.reverse reverse string.char
		zlib.inflate.inflate zlib.inflate .deflatestream .gzipstream inttoutf8 utf8toint rawtochar chartr convert_uudecode bxor bit.bxor bit32.bxor memdecompress b64decode base64.getdecoder .atob .chars.reverse chr char`,
	plGet: `invoke-webrequest invoke-restmethod iwr irm wget .downloadstring .downloadfile .downloaddata .getstringasync .getasync start-bitstransfer net.http.get net.http.get_response uri.open httparty. restclient. faraday. excon. typhoeus. http.get http.getwithcontext
		curl_exec wp_remote_get lwp.simple. getstore getprint mirror httr. httr2. curl. curl_fetch_memory curl_fetch_disk req_perform get geturl rcurl. download.file url reqwest. ureq. requests. urlsession.shared.datatask .datatask socket.http.request http.request https.request
		vim.net.request plenary.curl. jsonlite.fromjson fromjson urlretrieve url.openstream`,
	plSend: `.uploadstring .uploaddata .uploadfile .uploadvalues .postasync .putasync .postasjsonasync send-mailmessage net.http.post net.http.post_form http.post http.postform httparty.post restclient.post restclient.put faraday.post faraday.put smtp.sendmail mail wp_mail mb_send_mail
		wp_remote_post put patch postform ftp.put_file ftpupload ftp_put httr.post httr.put req_body_json req_body_file req_body_raw reqwest.client.post ureq.post .uploadtask send_mail sendmail post`,
	plConn: `tcpsocket. udpsocket. tcpsocket udpsocket io.socket.inet. io.socket.ssl. io.socket.inet io.socket.ssl fsockopen pfsockopen stream_socket_client net.dial net.dialtimeout tls.dial socket.tcp socket.udp socket.connect net.http.new net.http.start net.http.post.new net.http.put.new http.request.new
		http.newrequest http.newrequestwithcontext curl_init .openconnection urlrequest net.smtp. net.smtp net.ftp. socketconnection .tcpstream.connect tcpstream.connect udpsocket.bind lwp.useragent. lwp.useragent http.tiny. http.tiny
		system.net.webclient net.webclient system.net.http.httpclient net.sockets.tcpclient system.net.sockets.tcpclient net.sockets.udpclient tcpclient udpclient httpclient httpclient.newhttpclient webclient msxml2.xmlhttp winhttp.winhttprequest websocket.new faraday.new new_handle curl.new_handle`,
	plLookup: `resolve-dnsname dns_get_record checkdnsrr gethostbyname dns_check_record net.lookuphost net.lookupip net.lookuptxt net.lookupaddr resolv.getaddress resolv.dns. nsl socket.dns.toip dns.gethostaddresses dns.gethostentry inetaddress.getbyname addrinfo.getaddrinfo`,
	plRun: `system exec spawn io.popen open3.capture2 open3.capture2e open3.capture3 open3.popen3 shell_exec passthru popen proc_open pcntl_exec exec.command exec.commandcontext os.execute vim.fn.system vim.fn.jobstart vim.system jobstart system2 shell
		start-process command.new std.process.command.new .getruntime processbuilder process.start .exec process.run nstask wscript.shell shell.run syscall.exec kernel.system pty.spawn qx`,
	plEval: `eval invoke-expression iex instance_eval class_eval module_eval create_function assert loadstring load evalq executeglobal execute scriptblock.create system.reflection.assembly.load reflection.assembly.load assembly.load parse dostring`,
	plWrite: `set-content add-content out-file file.write io.write_file file_put_contents os.writefile ioutil.writefile writelines file.writealltext file.appendalltext io.file.writealltext io.file.appendalltext fs.write std.fs.write file.create os.create copy-item fileutils.cp fileutils.mv
		copy rename symlink os.symlink file.copy file.symlink files.write files.writestring vim.fn.writefile new-item set-itemproperty new-itemproperty spew write_file writefile`,
	plOpen:   `open fopen io.open file.open os.openfile file.new file openoptions.new`,
	plDelete: `remove-item ri fileutils.rm_rf fileutils.rm_r fileutils.remove_dir fileutils.remove_entry_secure rmtree remove_tree file.path.rmtree os.removeall unlink file.delete fs.remove_dir_all fs.remove_file std.fs.remove_dir_all os.remove vim.fn.delete directory.delete file.unlink clear-content`,
	plJoin:   `file.join join-path filepath.join path.join file.path path.combine io.path.combine file.spec.catfile file.spec.catdir catfile vim.fs.joinpath fs.joinpath paths.get path.of`,
	plMail:   `mail wp_mail mb_send_mail send-mailmessage smtp.sendmail sendmail send_mail net.smtp.start`,
	plHome:   `dir.home os.userhomedir user.homedir path.expand os.homedir nshomedirectory filemanager.default.homedirectoryforcurrentuser dirs.home_dir home env.home env.userprofile env.appdata env.localappdata home_dir`,
})

func plainTable(lists map[plainEffect]string) map[string]plainEffect {
	table := map[string]plainEffect{}
	for effect, names := range lists {
		for _, name := range strings.Fields(names) {
			table[name] |= effect
		}
	}
	return table
}

// plainEffectOf looks a dotted name up: whole, by its end, or by its beginning.
func plainEffectOf(name string) plainEffect {
	if len(name) > 120 {
		return 0
	}
	name = strings.ToLower(name)
	effect := plainNames[name]
	last := strings.LastIndexByte(name, '.')
	if last < 0 {
		return effect
	}
	effect |= plainNames[name[last:]]
	if effect == 0 {
		effect = plainNames[name[:last+1]]
	}
	// What a name gives may be asked for more: ENV.to_h.to_json.
	for at := last; effect == 0 && at > 0 && strings.Contains(name[:at], "."); at = strings.LastIndexByte(name[:at], '.') {
		effect = plainNames[name[:at]] & (plEnv | plHost | plCapture | plRead | plWalk | plDecode | plHome)
	}
	if first := strings.IndexByte(name, '.'); effect == 0 && first != last {
		effect = plainNames[name[:first+1]]
	}
	return effect
}

// ambiguousNames are ordinary words in most languages; they count only as a call in
// the languages named here.
var ambiguousNames = languagesOf(map[string]string{
	"get": ".r", "put": ".r", "patch": ".r", "post": ".r", "url": ".r", "load": ".lua .r", "parse": ".r", "file": ".php .r", "scan": ".r", "mail": ".php", "args": ".ps1 .swift .java .cs .kt .dart .rs .r",
	"open": ".pl .rb", "cat": ".ps1", "type": ".ps1", "gc": ".ps1", "ri": ".ps1", "arg": ".lua", "reverse": ".pl .r .jl", "char": ".ps1", "chr": ".php .pl .vbs .rb", "shell": ".r .vba .bas .applescript", "execute": ".vbs", "copy": ".php .pl",
	"rename": ".php .pl", "pack": ".php .pl", "unpack": ".php .pl", "home": ".ps1", "env": ".rb .pl .cr", "iex": ".ps1", "irm": ".ps1", "iwr": ".ps1", "wget": ".ps1", "spawn": ".rb", "exec": ".rb .php .pl .tcl", "system": ".rb .php .pl .r .c .cpp .lua",
	"assert": ".php", "mirror": ".pl", "hostname": ".pl .ps1", "glob": ".php .pl", "gets": ".rb", "readline": ".pl .r .php", "http.request": ".lua .rb", "https.request": ".lua", "fromjson": ".r", "jsonlite.fromjson": ".r", "file.copy": ".r", "file.create": ".r .java .rs .go", "symlink": ".php .pl .rb", "whoami": ".ps1",
	"sendmail": ".r", "popen": ".php .c .cpp", "eval": ".rb .php .pl .r .lua .ex .vbs", "bxor": ".ps1 .lua", ".reverse": ".rb .cr .ps1 .lua", ".exec": ".java .kt .groovy .vbs .vba .scala",
	".unpack": ".rb .cr", "unlink": ".php .pl .r .c .cpp", "nsl": ".r", "qx": ".pl", "stdin": ".rb .pl .php .r .swift .rs", "copy-item": ".ps1", "http.get": ".go .rb .ex",
})

func languagesOf(lists map[string]string) map[string]map[string]bool {
	table := map[string]map[string]bool{}
	for name, languages := range lists {
		table[name] = wordSet(languages)
	}
	return table
}
