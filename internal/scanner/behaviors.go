package scanner

// behavior is the id of a rule that is code rather than a pattern.
type behavior string

// The behavioral rules.
const (
	bExfilSecret     behavior = "behavioral.data_exfiltration.secret_to_network"
	bExfilCapture    behavior = "behavioral.data_exfiltration.captured_input_to_network"
	bExfilFiles      behavior = "behavioral.data_exfiltration.many_files_to_network"
	bExfilFile       behavior = "behavioral.data_exfiltration.file_to_network"
	bExfilUnnamed    behavior = "behavioral.data_exfiltration.content_to_unnamed_host"
	bExfilForm       behavior = "behavioral.credential_theft.form_to_foreign_host"
	bExfilHost       behavior = "behavioral.data_exfiltration.host_details_to_network"
	bExfilOutput     behavior = "behavioral.data_exfiltration.command_output_to_network"
	bExfilKeyAbroad  behavior = "behavioral.credential_theft.key_to_foreign_host"
	bExfilCatcher    behavior = "behavioral.data_exfiltration.catcher_address"
	bExfilDNS        behavior = "behavioral.data_exfiltration.name_lookup"
	bReadSecret      behavior = "behavioral.credential_theft.reads_credential_store"
	bMetadata        behavior = "behavioral.credential_theft.cloud_metadata"
	bDownloadRun     behavior = "behavioral.supply_chain.download_and_run"
	bInstallerDoc    behavior = "behavioral.supply_chain.pipe_installer"
	bDecodeRun       behavior = "behavioral.obfuscation.decode_and_run"
	bHiddenAddress   behavior = "behavioral.obfuscation.hidden_address"
	bHiddenName      behavior = "behavioral.obfuscation.hidden_function_name"
	bDynamicCode     behavior = "behavioral.obfuscation.dynamic_code"
	bReverseShell    behavior = "behavioral.privilege_escalation.reverse_shell"
	bRaiseRights     behavior = "behavioral.privilege_escalation.raise_rights"
	bHostEscape      behavior = "behavioral.privilege_escalation.container_escape"
	bPersist         behavior = "behavioral.persistence.start_up"
	bAgentConfig     behavior = "behavioral.persistence.agent_configuration"
	bWipe            behavior = "behavioral.destructive_action.wipe"
	bEncryptFiles    behavior = "behavioral.destructive_action.encrypts_files"
	bSystemWrite     behavior = "behavioral.destructive_action.system_write"
	bCoverTracks     behavior = "behavioral.destructive_action.cover_tracks"
	bDisableSecurity behavior = "behavioral.privilege_escalation.disables_protection"
	bExhaust         behavior = "behavioral.resource_abuse.exhaustion"
	bMining          behavior = "behavioral.resource_abuse.mining"
	bRawAddress      behavior = "behavioral.data_exfiltration.raw_address"
	bAutonomy        behavior = "behavioral.autonomy_abuse.unattended_agent"
	bFakePrompt      behavior = "behavioral.social_engineering.password_dialog"
	bUnsafeLoad      behavior = "behavioral.obfuscation.unsafe_deserialization"
	bUnpinnedServer  behavior = "behavioral.supply_chain.unpinned_server"
	bSelfUpdate      behavior = "behavioral.supply_chain.self_update"
	bForeignPackage  behavior = "behavioral.supply_chain.foreign_package"
	bShellInjection  behavior = "behavioral.supply_chain.input_as_command"
)

type behaviorSpec struct {
	category, title, message, remediation string
	severity                              Severity
}

const (
	fixLocal    = "Keep secrets and private files on the machine; send only what the task needs to a declared domain."
	fixReadable = "Ship readable source that says what it runs and where it connects."
	fixInstall  = "Use a package manager with a pinned version, or ship the code in the bundle."
	fixRights   = "Work with the user's ordinary rights and leave the system's settings alone."
	fixScope    = "Limit it to files the skill itself made, and ask first."
)

// behaviors describes every behavioral rule; docs/scanner-rules.md is made from it.
var behaviors = map[behavior]behaviorSpec{
	bExfilSecret:     {"data_exfiltration", "Sends credentials over the network", "Data read from a credential file or from the whole environment reaches a network call", fixLocal, SeverityCritical},
	bExfilCapture:    {"data_exfiltration", "Sends captured input over the network", "Clipboard, screen, keyboard or camera data reaches a network call", fixLocal, SeverityCritical},
	bExfilFiles:      {"data_exfiltration", "Uploads files it searched for", "Files found by walking a folder reach a network call", fixLocal, SeverityHigh},
	bExfilFile:       {"data_exfiltration", "Uploads a file", "A file's content reaches a network call", fixLocal, SeverityLow},
	bExfilUnnamed:    {"data_exfiltration", "Sends content to a host that nothing mentions", "What the program is given to work on reaches a host that neither the declaration nor a document names", fixLocal, SeverityMedium},
	bExfilForm:       {"credential_theft", "A form takes secrets to another host", "A page asks for a password or a number of that kind and sends it to a host that the declaration does not name", "Let people sign in at the service's own page.", SeverityHigh},
	bExfilHost:       {"data_exfiltration", "Sends details of the machine", "User name, host name or addresses of the machine reach a network call", fixLocal, SeverityMedium},
	bExfilOutput:     {"data_exfiltration", "Sends a command's output", "The output of a command reaches a network call", fixLocal, SeverityMedium},
	bExfilKeyAbroad:  {"credential_theft", "Sends a key to somebody else's host", "A credential from the environment is sent to a host that is neither declared nor the key's own", fixLocal, SeverityHigh},
	bExfilCatcher:    {"data_exfiltration", "Connects to an address made for catching data", "The address belongs to a request catcher, tunnel, paste site or chat webhook", "Use a service of your own under a declared domain.", SeverityHigh},
	bExfilDNS:        {"data_exfiltration", "Carries data in name lookups", "A computed value becomes part of a host name that is looked up", fixLocal, SeverityHigh},
	bReadSecret:      {"credential_theft", "Reads a credential store", "The program opens a file or store in which credentials are kept", "Ask for exactly the credential that is needed through a declared environment variable.", SeverityHigh},
	bMetadata:        {"credential_theft", "Asks the cloud's metadata service", "The instance metadata address hands out the machine's credentials", fixLocal, SeverityHigh},
	bDownloadRun:     {"supply_chain", "Runs code it downloads", "Content fetched from the network is executed, so what was reviewed is not what runs", fixInstall, SeverityCritical},
	bInstallerDoc:    {"supply_chain", "Pipes an installer into a shell", "A script from the network is run without being looked at", fixInstall, SeverityMedium},
	bDecodeRun:       {"obfuscation", "Runs code that it decodes", "Encoded or compressed data is turned into code and executed", fixReadable, SeverityCritical},
	bHiddenAddress:   {"obfuscation", "Hides the address it connects to", "The address of a network call is stored encoded", fixReadable, SeverityHigh},
	bHiddenName:      {"obfuscation", "Hides which function it calls", "A powerful function is reached through a computed name", fixReadable, SeverityHigh},
	bDynamicCode:     {"obfuscation", "Builds code at run time", "Code that is not constant is evaluated", fixReadable, SeverityLow},
	bReverseShell:    {"privilege_escalation", "Opens a shell to a remote address", "A shell's input and output are connected to the network", "Remove it.", SeverityCritical},
	bRaiseRights:     {"privilege_escalation", "Raises its rights", "The program changes who may do what on the machine", fixRights, SeverityHigh},
	bHostEscape:      {"privilege_escalation", "Breaks a container's isolation", "A container is given the host's disk, socket or kernel", fixRights, SeverityHigh},
	bPersist:         {"persistence", "Makes itself start again", "The program writes where programs are started from at login, on a schedule or by other tools", "Leave scheduling and shell settings to the user.", SeverityHigh},
	bAgentConfig:     {"persistence", "Changes an agent's lasting instructions or settings", "The program writes to files that steer agents after this task has ended", "Leave the agent's settings to the user.", SeverityHigh},
	bWipe:            {"destructive_action", "Deletes on a large scale", "The program deletes or overwrites the user's home, the system or a disk", fixScope, SeverityCritical},
	bEncryptFiles:    {"destructive_action", "Encrypts or overwrites files it searched for", "Files found by walking a folder are encrypted, overwritten or deleted", fixScope, SeverityHigh},
	bSystemWrite:     {"destructive_action", "Writes to the system", "The program writes below a system folder", fixScope, SeverityMedium},
	bCoverTracks:     {"destructive_action", "Removes traces", "Shell history or logs are cleared, or the program deletes itself", "Leave logs and history alone.", SeverityHigh},
	bDisableSecurity: {"privilege_escalation", "Switches off protection", "The program disables a security feature of the system", fixRights, SeverityHigh},
	bExhaust:         {"resource_abuse", "Exhausts the machine", "Processes, memory or disk grow without bound", "Bound every loop.", SeverityHigh},
	bMining:          {"resource_abuse", "Mines cryptocurrency", "A mining program or protocol is used", "Remove it.", SeverityHigh},
	bRawAddress:      {"data_exfiltration", "Connects to a bare IP address", "The peer is a number instead of a name that could be declared and checked", "Use a declared domain.", SeverityMedium},
	bAutonomy:        {"autonomy_abuse", "Starts an agent without supervision", "Another agent is started with its permission checks off", "Let the user decide on permissions.", SeverityHigh},
	bFakePrompt:      {"social_engineering", "Asks for a password in a dialog of its own", "A dialog or prompt collects the user's password", "Never ask for passwords; use the system's own dialog.", SeverityHigh},
	bUnsafeLoad:      {"obfuscation", "Loads objects that can run code", "Data from outside is loaded by a format that executes code while loading", "Use JSON or another plain format.", SeverityHigh},
	bUnpinnedServer:  {"supply_chain", "Starts a server of no fixed version", "A context server is fetched when it starts, in whatever version is newest then", fixInstall, SeverityMedium},
	bSelfUpdate:      {"supply_chain", "Replaces its own instructions by a download", "The instructions that were reviewed are overwritten by what a server answers", "Publish a new version instead.", SeverityHigh},
	bForeignPackage:  {"supply_chain", "Installs packages from somewhere else", "Packages come from an address or index other than the registry's", fixInstall, SeverityMedium},
	bShellInjection:  {"supply_chain", "Runs input as a command", "Text from outside the program becomes a command", "Pass arguments as a list and validate them.", SeverityLow},
}
